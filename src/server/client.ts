/** A client as it told of itself. */
import type { ClientCapabilities } from "@modelcontextprotocol/server";
import type { ClientTimeOut } from "./client-time-out.ts";

/** What a client tells in a handshake. */
export interface Client {
  readonly name?: string | undefined;
  readonly capabilities?: ClientCapabilities | undefined;
  /** How long it waits for answers, as far as that was learnt. */
  readonly timeOut?: ClientTimeOut;
  /** Of the era of 2026-07-28. */
  readonly isModern?: boolean;
}
