/** What is known of a client: its name, its capabilities, and what it can be answered with. */
import type { ClientCapabilities } from "@modelcontextprotocol/server";
import type { Answer, CallRunner } from "./answer.ts";
import type { ClientTimeout } from "./client-timeout.ts";

/** A client of the server. Name and capabilities come from the handshake, if there was one. */
export interface Client {
  readonly name?: string | undefined;
  readonly capabilities?: ClientCapabilities | undefined;
  /** Estimates how long the client waits for responses. */
  readonly timeout?: ClientTimeout;
  /** Whether the client's era is `modern`, that is, protocol version 2026-07-28. */
  readonly isModern?: boolean;
  /** Answers a call with an MCP task, or with its result if that comes at once. Only in the modern era. */
  readonly startMcpTask?: (
    tool: string,
    args: Readonly<Record<string, unknown>>,
    runner: CallRunner,
    signal: AbortSignal,
  ) => Promise<Answer>;
}
