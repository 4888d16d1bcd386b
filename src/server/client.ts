/** What is known of a client: its name, its capabilities, how long it waits, and how its calls are answered. */
import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  MissingRequiredClientCapabilityError,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import type { HandleRow } from "../ledger/schema.ts";
import type { CallWork, Question, ToolCall } from "../tools/tool.ts";
import { TASKS_EXTENSION } from "./extensions.ts";

/**
 * Minimum of the shortened default wait. A person may stop a call within a second, which does not mean that the client
 * waits no longer than that.
 */
const MIN_WAIT_SECONDS = 1;

/**
 * Maximum default wait of later calls, as a share of the time after which the client gave up a call. For example, if
 * the client gave up after 60 s, later calls wait at most 40 s by default. The rest of the time is for transmitting the
 * response.
 */
const MAX_WAIT_SHARE = 2 / 3;

/**
 * Remembers the shortest time after which one client gave up a call, and shortens the default wait of its later calls.
 */
export class ClientTimeout {
  #maxWaitSeconds = Number.POSITIVE_INFINITY;

  /**
   * Returns the default wait for the client's next call, in seconds.
   *
   * @param defaultSeconds the default wait for a client that has never given up a call
   */
  capWaitSeconds(defaultSeconds: number): number {
    return Math.min(defaultSeconds, this.#maxWaitSeconds);
  }

  recordGiveUp(ms: number): void {
    const waitSeconds = Math.max(MIN_WAIT_SECONDS, Math.floor((MAX_WAIT_SHARE * ms) / 1000));
    this.#maxWaitSeconds = Math.min(this.#maxWaitSeconds, waitSeconds);
  }
}

const statedCapabilities = z.object({
  elicitation: z.looseObject({}).optional(),
  extensions: z.record(z.string(), z.unknown()).optional(),
});
const nameSchema = z.object({ [CLIENT_INFO_META_KEY]: z.object({ name: z.string() }) });
const capabilitiesSchema = z.object({ [CLIENT_CAPABILITIES_META_KEY]: statedCapabilities });

/** A client of the server, as it is known at one of its requests. */
export interface Client {
  readonly name?: string | undefined;
  readonly capabilities?: z.infer<typeof statedCapabilities> | undefined;
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

/**
 * Reads what a request of the modern era states of its client. Clients of the legacy era state it only once, in the
 * handshake.
 */
export const readStatedClient = ({ mcpReq: { envelope } }: ServerContext) => ({
  name: nameSchema.safeParse(envelope).data?.[CLIENT_INFO_META_KEY].name,
  capabilities: capabilitiesSchema.safeParse(envelope).data?.[CLIENT_CAPABILITIES_META_KEY],
});

/** Whether a client can show a form: it lists the mode `form`, or lists no mode at all. */
export const canShowForms = ({ capabilities: { elicitation } = {} }: Client): boolean =>
  elicitation !== undefined && ("form" in elicitation || Object.keys(elicitation).length === 0);

/** Whether a request of the modern era allows an MCP task as its answer. */
export const declaresMcpTasks = ({ capabilities }: Client): boolean =>
  typeof capabilities?.extensions?.[TASKS_EXTENSION] === "object";

/**
 * Refuses a request that does not declare the tasks extension.
 *
 * @throws ProtocolError -32021, naming the capability that the request must declare
 */
export function requireMcpTasks(client: Client): void {
  if (declaresMcpTasks(client)) return;
  throw new MissingRequiredClientCapabilityError({
    requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } },
  });
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
