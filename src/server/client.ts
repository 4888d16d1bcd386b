/** What is known of a client: its name, its capabilities, what it can be answered with, and an answer. */
import type { CallToolResult, ClientCapabilities } from "@modelcontextprotocol/server";
import type { AudioError } from "../errors.ts";
import type { HandleRow } from "../ledger/schema.ts";
import type { CallWork, Question, ToolCall } from "../tools/tool.ts";
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

export interface Answer {
  readonly result: CallToolResult;
  readonly work: CallWork;
  readonly question?: Question | undefined;
}

/** Makes the calls of one tool for one client. */
export interface CallRunner {
  /** Runs the tool and renders its result or its error. Never rejects. */
  run(args: unknown, call: ToolCall): Promise<Answer>;
  /** Takes back a call that is answered as an MCP task. See `cancel` of `Tool`. */
  cancel(handle: Pick<HandleRow, "id" | "target">): Promise<string | null>;
}

/** What an error says about the work of its call. */
export function deriveWorkOfError({ code, httpStatus, taskId }: AudioError): CallWork {
  // These codes mean that the ledger is away or that this process is stopping.
  if (code === "store_unavailable" || code === "timeout") return "goes_on";
  return httpStatus === undefined && taskId === undefined ? "none" : "ended";
}
