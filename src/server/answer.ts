/** Defines the rendered answer of a call, and what it says about the work that the call asked for. */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { AudioError } from "../errors.ts";
import type { HandleRow } from "../ledger/schema.ts";
import type { CallWork, Question, ToolCall } from "../tools/tool.ts";

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
