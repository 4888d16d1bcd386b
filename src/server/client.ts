/** The name and capabilities that a client has stated. */
import type { ClientCapabilities } from "@modelcontextprotocol/server";
import type { ClientTimeout } from "./client-timeout.ts";

/** A client of the server. Name and capabilities come from the handshake, if there was one. */
export interface Client {
  readonly name?: string | undefined;
  readonly capabilities?: ClientCapabilities | undefined;
  /** Estimates how long the client waits for responses. */
  readonly timeout?: ClientTimeout;
  /** Whether the client's era is `modern`, that is, protocol version 2026-07-28. */
  readonly isModern?: boolean;
}
