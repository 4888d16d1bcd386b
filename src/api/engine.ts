/** What the transport asks of an HTTP client, and which of the two is loaded: Node's own, or undici behind a proxy. */
import type { ProxySettings } from "../config/config.ts";
import type { Deadlines } from "./transport.ts";

export interface EngineRequest {
  readonly method: "GET" | "POST";
  /** With everything before the query, as it is sent. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly signal: AbortSignal;
  /** Called just before the first byte is written: until then the service cannot have seen anything. */
  readonly onSending: () => void;
}

export interface EngineAnswer {
  readonly status: number;
  /** By names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** To be read once. Chunks belong to the reader. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Lets go of the connection, unless the body has been read to its end. */
  drop(): void;
}

/** Sends requests to one origin: no redirect is followed, nothing is sent twice. */
export interface Engine {
  /** @throws the client's own errors, also out of the body: {@link networkFailure} knows them */
  send(request: EngineRequest): Promise<EngineAnswer>;
  /** Breaks off everything under way. */
  destroy(): Promise<void>;
}

/** The same for both: what a client may be told in headers. */
export const MAX_HEADER_BYTES = 32 * 1024;

/**
 * Loads a client on first use, for most server processes never send a request. Proxies are for https only, because
 * plain http is allowed on loopback alone and a proxy would see the key.
 */
export async function startEngine(base: URL, proxy: ProxySettings, deadlines: Deadlines): Promise<Engine> {
  if (base.protocol !== "https:" || proxy.httpsProxy === undefined) {
    const { startDirectEngine } = await import("./direct-engine.ts");
    return startDirectEngine(base, deadlines);
  }
  const { startProxiedEngine } = await import("./proxied-engine.ts");
  return startProxiedEngine(base, { ...proxy, httpsProxy: proxy.httpsProxy }, deadlines);
}
