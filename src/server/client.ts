/** A client as it told of itself. */
import type { ClientCapabilities } from "@modelcontextprotocol/server";

/** What a client tells in a handshake. */
export interface Client {
  readonly name?: string | undefined;
  readonly capabilities?: ClientCapabilities | undefined;
  /** Of the era of 2026-07-28. */
  readonly isModern?: boolean;
}
