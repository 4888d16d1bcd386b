/**
 * Finds and runs the called tool with progress and cancellation. Turns errors of tools into results. Loaded on the first
 * call, together with the schemas of all tools.
 */
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import {
  type CallToolResult,
  type ContentBlock,
  type InputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { isCancelledByCaller } from "../call-cancellation.ts";
import { systemClock } from "../clock.ts";
import type { ResourceLinks } from "../config/settings.ts";
import { coerceArguments } from "../contract/coerce-arguments.ts";
import type { AudioError } from "../errors.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { describeCause, type Log } from "../log.ts";
import { type Redact, secretRefusedError } from "../redaction.ts";
import type { Requests } from "../requests/requests.ts";
import { findTool, TOOLS } from "../tools/catalog.ts";
import {
  type CallWork,
  listPublishedArguments,
  type Tool,
  type ToolCall,
  type ToolDeps,
  type ToolResult,
} from "../tools/tool.ts";
import { askPerson } from "./ask-person.ts";
import { computeMaxCallSeconds, parseWaitSeconds, runWithCallTimeout } from "./call-deadline.ts";
import { type Answer, type CallRunner, type Client, declaresMcpTasks } from "./client.ts";
import { type ClientTraits, findClientTraits, withoutAddedArguments } from "./client-quirks.ts";
import { renderErrorResult, toAudioError } from "./error-result.ts";
import { createProgressSender } from "./progress.ts";

export interface ServerDeps {
  readonly toolDeps: ToolDeps;
  /**
   * Returns the object with the use cases of single requests, for lists that clients request without being asked by
   * the user. Returns `null` if the settings are invalid. Never creates a ledger, connects to a database or starts a
   * sandbox. Returns `null` if that would be necessary.
   */
  openLocalRequests(): Promise<Requests | null>;
  /** The server's instructions for every conversation. */
  readonly instructions: string;
  readonly redact: Redact;
  /** Whether a text contains the API key or a password of the settings. */
  readonly containsSecret: (text: string) => boolean;
  readonly resourceLinks: ResourceLinks;
  /** Opens the ledger, for calls that are answered as MCP tasks. */
  ledger(): Promise<Ledger>;
  /** Returns an additional sentence for the next result, or `null`. */
  readonly takeNextResultNote: () => string | null;
  /** Aborts with an error when open calls must be answered, because the client has closed its end. */
  readonly stopping: AbortSignal;
  readonly log: Log;
}

/**
 * Maximum size of the audio inside a result. It is small, because an unknown client may pass the bytes on to its model
 * as text. Larger audio would then fill the model's context.
 */
const MAX_INLINE_BYTES = 256 * 1024;

async function buildInlineBlock(
  { path, mimeType, read }: NonNullable<ToolResult["inline"]>,
  client: ClientTraits,
): Promise<ContentBlock> {
  const data = Buffer.from(await read(MAX_INLINE_BYTES)).toString("base64");
  // Raw pcm is not a playable audio type, so it is sent as a resource.
  if (!client.acceptsAudioBlocks || !mimeType.startsWith("audio/"))
    return { type: "resource", resource: { uri: pathToFileURL(path).href, mimeType, blob: data } };
  return { type: "audio", data, mimeType };
}

/**
 * Explains why requested audio is not in the result. Returns `null` if the audio is in the result, or if no audio was
 * requested.
 */
function explainMissingInlineAudio({ inline }: ToolResult, client: ClientTraits): string | null {
  if (inline === undefined) return null;
  const locationNote = "The file is at the path, and can be read as a resource.";
  if (client.putsBytesIntoContext) {
    return `No audio is in this result, because this client would put its bytes into the context. ${locationNote}`;
  }
  return inline.sizeBytes > MAX_INLINE_BYTES
    ? `No audio is in this result, because it has ${inline.sizeBytes} bytes, and at most ${MAX_INLINE_BYTES} go into one. ${locationNote}`
    : null;
}

/**
 * Converts the result of a tool to a result of the protocol. Adds a link and audio only if the client can handle them.
 * If the caller requested audio that is left out, the text says why. Throws the errors of reading the audio.
 */
async function toCallResult(answer: ToolResult, client: ClientTraits): Promise<CallToolResult> {
  const notInlineReason = explainMissingInlineAudio(answer, client);
  const content: ContentBlock[] = [{ type: "text", text: answer.text }];
  if (client.mayGetLinks && answer.link !== undefined) {
    const { path, mimeType, sizeBytes } = answer.link;
    const uri = pathToFileURL(path).href;
    content.push({ type: "resource_link", uri, name: basename(path), mimeType, size: sizeBytes });
  }
  if (answer.inline !== undefined && notInlineReason === null)
    content.push(await buildInlineBlock(answer.inline, client));
  const _meta = answer.meta === undefined ? {} : { _meta: { ...answer.meta } };
  const result = { content, structuredContent: answer.structured, ..._meta };
  return notInlineReason === null ? result : withNote(result, notInlineReason);
}

const fieldsWithMessage = z.looseObject({ message: z.string() });

/** Adds the note to the text and to the structured content, because each form must be complete on its own. */
function withNote(result: CallToolResult, note: string): CallToolResult {
  const [block, ...others] = result.content;
  if (block?.type !== "text") return result;
  const noted = { ...result, content: [{ ...block, text: `${block.text}\n${note}` }, ...others] };
  const fields = fieldsWithMessage.safeParse(result.structuredContent).data;
  return fields === undefined
    ? noted
    : { ...noted, structuredContent: { ...fields, message: `${fields.message} ${note}` } };
}

/** Adds the note that is due, but not to errors, and not to a new MCP task, which has no words of its own. */
function withDueNote(result: CallToolResult, tool: Tool, deps: ServerDeps): CallToolResult {
  if (!tool.annotations.openWorldHint || result.isError === true || result.content.length === 0)
    return result;
  const note = deps.takeNextResultNote();
  return note === null ? result : withNote(result, note);
}

function logFailure(tool: Tool, error: AudioError, log: Log): void {
  log.info(`${tool.name} answered ${error.code}`);
  if (error.cause === undefined) return;
  if (error.code === "unexpected_response" && error.httpStatus === undefined) {
    log.error(`${tool.name} failed`, error.cause);
  } else log.debug(`cause of ${error.code}: ${describeCause(error.cause)}`);
}

/** Shortens the default wait for a client that has given up a call before. */
const capDefaultWait = ({ toolDeps }: ServerDeps, { timeout }: Client): ToolDeps =>
  timeout === undefined
    ? toolDeps
    : { ...toolDeps, defaultWaitSeconds: timeout.capWaitSeconds(toolDeps.defaultWaitSeconds) };

/** Records how long the client waited, if it gives up this call. */
function recordGiveUp({ timeout }: Client, signal: AbortSignal): void {
  if (timeout === undefined) return;
  const beganAtMs = systemClock.steadyMs();
  signal.addEventListener(
    "abort",
    () => {
      if (!isCancelledByCaller(signal.reason)) timeout.recordGiveUp(systemClock.steadyMs() - beganAtMs);
    },
    { once: true },
  );
}

/** What an error says about the work of its call. */
function deriveWorkOfError({ code, httpStatus, taskId }: AudioError): CallWork {
  // These codes mean that the ledger is away or that this process is stopping.
  if (code === "store_unavailable" || code === "timeout") return "goes_on";
  return httpStatus === undefined && taskId === undefined ? "none" : "ended";
}

/** Renders an error of a call, and logs it unless the client has cancelled the call. */
function answerError(
  thrown: unknown,
  args: unknown,
  tool: Tool,
  deps: ServerDeps,
  signal: AbortSignal,
): Answer {
  const error = toAudioError(thrown, args, listPublishedArguments(tool));
  if (!signal.aborted) logFailure(tool, error, deps.log);
  return { result: renderErrorResult(error, deps.redact), work: deriveWorkOfError(error) };
}

/**
 * Creates what makes the calls of a tool for a client. A call that is answered as an MCP task is made like a plain call.
 */
export function createCallRunner(tool: Tool, deps: ServerDeps, client: Client): CallRunner {
  const toolDeps = capDefaultWait(deps, client);
  const traits = findClientTraits(deps.resourceLinks, client.name);
  return {
    cancel: async (handle) => (await tool.cancel?.(handle, deps.toolDeps)) ?? null,
    run: async (args, call) => {
      try {
        const isMcpTask = call.handle !== undefined;
        // Every result of an MCP task asks the assistant to tell the user the file's path, because it is rendered
        // before it is known whether the client reads it.
        const callDeps = isMcpTask ? { ...toolDeps, takeFirstSuccess: () => true } : toolDeps;
        const answer = await tool.run(args, callDeps, call);
        const result = await toCallResult(answer, traits);
        const { work = "none", question } = answer;
        return { result: isMcpTask ? withDueNote(result, tool, deps) : result, work, question };
      } catch (thrown) {
        return answerError(thrown, args, tool, deps, call.signal);
      }
    },
  };
}

/**
 * Runs a tool and converts every error to an `isError` result. Asks the person if the tool has a question.
 *
 * @param client what the client stated in the handshake, if there was one
 */
export async function runTool(
  tool: Tool,
  givenArgs: Readonly<Record<string, unknown>>,
  deps: ServerDeps,
  context: ServerContext,
  client: Client = {},
): Promise<CallToolResult | InputRequiredResult> {
  const args = withoutAddedArguments(givenArgs);
  const { signal } = context.mcpReq;
  const { defaultWaitSeconds } = capDefaultWait(deps, client);
  const send = createProgressSender(context, deps.log);
  const onProgress: ToolCall["onProgress"] = (message, ...rest) => send(deps.redact(message), ...rest);
  const runner = createCallRunner(tool, deps, client);
  recordGiveUp(client, signal);
  try {
    if (deps.containsSecret(JSON.stringify(args))) throw secretRefusedError("One of the arguments");
    // Tools with `openWorldHint` use the service or its ledger, so they need valid settings. Report invalid settings
    // before invalid arguments, because correcting arguments is useless without settings.
    if (tool.annotations.openWorldHint) deps.toolDeps.assertConfigured();
    const waitSeconds = parseWaitSeconds(coerceArguments(args, tool.input), defaultWaitSeconds);
    const endsSteadyMs = systemClock.steadyMs() + waitSeconds * 1000;
    const answerWith = async (toolArgs: Readonly<Record<string, unknown>>): Promise<Answer> => {
      const { startMcpTask } = declaresMcpTasks(client) ? client : {};
      const pinnedArgs = startMcpTask && tool.pinArguments?.(toolArgs, deps.toolDeps);
      if (startMcpTask && pinnedArgs) {
        return await startMcpTask(tool.name, pinnedArgs, runner, signal);
      }
      const anyEnd = AbortSignal.any([signal, deps.stopping]);
      return await runWithCallTimeout(computeMaxCallSeconds(waitSeconds), anyEnd, (ending) =>
        runner.run(toolArgs, { signal: ending, onProgress }),
      );
    };
    let answer = await answerWith(args);
    const { question } = answer;
    const leftMs = endsSteadyMs - systemClock.steadyMs();
    if (question !== undefined) {
      const asked = await askPerson(question, context, client, leftMs);
      if (typeof asked === "object" && asked !== null) return asked;
      if (asked !== null) answer = await answerWith({ ...args, [question.argument]: asked });
    }
    return withDueNote(answer.result, tool, deps);
  } catch (thrown) {
    return answerError(thrown, args, tool, deps, signal).result;
  } finally {
    // Let progress notifications be written before the result, because the SDK's client drops a notification that
    // arrives in the same chunk as the result.
    await new Promise(setImmediate);
  }
}

/**
 * Runs the called tool.
 *
 * @throws ProtocolError for an unknown tool, listing the known ones
 */
export async function callTool(
  {
    name,
    arguments: args = {},
  }: { readonly name: string; readonly arguments?: Record<string, unknown> | undefined },
  deps: ServerDeps,
  context: ServerContext,
  client: Client,
): Promise<CallToolResult | InputRequiredResult> {
  const tool = findTool(name);
  if (tool !== undefined) return await runTool(tool, args, deps, context, client);
  const toolNames = TOOLS.map((known) => known.name).join(", ");
  throw new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    `Unknown tool. The tools of this server are ${toolNames}.`,
  );
}
