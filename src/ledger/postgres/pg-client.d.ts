/**
 * Declares `pg/lib/client.js`, the only module of `pg` that is imported. The index of `pg` is not imported, because it
 * also loads a pool, and a native client if an environment variable asks for it.
 */
declare module "pg/lib/client.js" {
  import type { Client as PgClient } from "pg";
  export default class Client extends PgClient {
    /** Parameters sent to the server at the start of a connection. */
    getStartupConf(): Record<string, string>;
    ref(): void;
    unref(): void;
  }
}
