/** Types of the parts of undici that are bundled one by one: its index drags in fetch, WebSocket and mocks. */

declare module "undici/lib/dispatcher/env-http-proxy-agent.js" {
  import type { EnvHttpProxyAgent } from "undici";

  const ProxyClass: typeof EnvHttpProxyAgent;
  export default ProxyClass;
}

declare module "undici/lib/dispatcher/pool.js" {
  import type { Pool } from "undici";

  const PoolClass: typeof Pool;
  export default PoolClass;
}

declare module "undici/lib/api/api-connect.js" {
  import type { Dispatcher } from "undici";

  /** `Dispatcher.prototype.connect`, likewise. */
  const connect: Dispatcher["connect"];
  export default connect;
}

declare module "undici/lib/api/api-request.js" {
  import type { Dispatcher } from "undici";
  /** `Dispatcher.prototype.request`, which undici's index would have put onto the dispatchers. */
  export default function request(
    this: Pick<Dispatcher, "dispatch">,
    options: Dispatcher.RequestOptions,
  ): Promise<Dispatcher.ResponseData>;
}
