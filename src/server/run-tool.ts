/** Runs a tool call with progress and cancellation. Turns errors of tools into results. */
import {
  type CallToolResult,
  CLIENT_INFO_META_KEY,
  type ContentBlock,
  type InputRequiredResult,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { isCancelledByCaller } from "../call-cancellation.ts";
import { systemClock } from "../clock.ts";
import type { ResourceLinks } from "../config/settings.ts";
import { coerceArguments } from "../contract/coerce-arguments.ts";
import type { AudioError } from "../errors.ts";
import { describeCause, type Log } from "../log.ts";
import { type Redact, secretRefusedError } from "../redaction.ts";
import type { Requests } from "../requests/requests.ts";
import {
  listPublishedArguments,
  type Tool,
  type ToolCall,
  type ToolDeps,
  type ToolResult,
} from "../tools/tool.ts";
import { askPerson } from "./ask-person.ts";
import { computeMaxCallSeconds, parseWaitSeconds, runWithCallTimeout } from "./call-deadline.ts";
import type { Client } from "./client.ts";
import {
  acceptsAudioBlocks,
  putsBytesIntoContext,
  shouldGetLinks,
  withoutAddedArguments,
} from "./client-quirks.ts";
import { renderErrorResult, toAudioError } from "./error-result.ts";
import { buildMcpTaskResult } from "./mcp-tasks/mcp-task-result.ts";
import { declaresMcpTasks } from "./mcp-tasks/tasks-capability.ts";
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
  /** Returns an additional sentence for the next result, or `null`. */
  readonly takeNextResultNote: () => string | null;
  readonly log: Log;
}

/** The properties of a client that affect its results. */
export interface ClientTraits {
  readonly mayGetLinks: boolean;
  readonly acceptsAudioBlocks: boolean;
  readonly putsBytesIntoContext: boolean;
}

/**
 * Maximum size of the audio inside a result. It is small, because an unknown client may pass the bytes on to its model
 * as text. Larger audio would then fill the model's context.
 */
const MAX_INLINE_BYTES = 256 * 1024;

async function buildInlineBlock(
  { uri, mimeType, read }: NonNullable<ToolResult["inline"]>,
  client: ClientTraits,
): Promise<ContentBlock> {
  const data = Buffer.from(await read(MAX_INLINE_BYTES)).toString("base64");
  // Raw pcm is not a playable audio type, so it is sent as a resource.
  if (!client.acceptsAudioBlocks || !mimeType.startsWith("audio/"))
    return { type: "resource", resource: { uri, mimeType, blob: data } };
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
export async function toCallResult(answer: ToolResult, client: ClientTraits): Promise<CallToolResult> {
  const notInlineReason = explainMissingInlineAudio(answer, client);
  const resultWithNote = withNote(answer, notInlineReason);
  const content: ContentBlock[] = [{ type: "text", text: resultWithNote.text }];
  if (client.mayGetLinks && resultWithNote.link !== undefined) {
    const { uri, name, mimeType, sizeBytes } = resultWithNote.link;
    content.push({ type: "resource_link", uri, name, mimeType, size: sizeBytes });
  }
  if (resultWithNote.inline !== undefined && notInlineReason === null)
    content.push(await buildInlineBlock(resultWithNote.inline, client));
  const _meta = resultWithNote.meta === undefined ? {} : { _meta: { ...resultWithNote.meta } };
  return { content, structuredContent: resultWithNote.structured, ..._meta };
}

/** Adds the note to the text and to the structured content, because each form must be complete on its own. */
function withNote(result: ToolResult, note: string | null): ToolResult {
  if (note === null) return result;
  const { message } = result.structured;
  const noted = typeof message === "string" ? { message: `${message} ${note}` } : {};
  return { ...result, text: `${result.text}\n${note}`, structured: { ...result.structured, ...noted } };
}

function logFailure(tool: Tool, error: AudioError, log: Log): void {
  log.info(`${tool.name} answered ${error.code}`);
  if (error.cause === undefined) return;
  if (error.code === "unexpected_response" && error.httpStatus === undefined) {
    log.error(`${tool.name} failed`, error.cause);
  } else log.debug(`cause of ${error.code}: ${describeCause(error.cause)}`);
}

const clientEnvelopeSchema = z.object({ [CLIENT_INFO_META_KEY]: z.object({ name: z.string() }) });

/**
 * Returns the client's name. Clients with protocol version 2026-07-28 state their name in each request. Older clients
 * state it only once, in the handshake.
 */
function getClientName(context: ServerContext, handshakeName: string | undefined): string | undefined {
  const envelope = clientEnvelopeSchema.safeParse(context.mcpReq.envelope);
  return envelope.success ? envelope.data[CLIENT_INFO_META_KEY].name : handshakeName;
}

/** Determines what results for a client may contain, from the client's name and the setting AUDIO_RESOURCE_LINKS. */
export function detectClientTraits(deps: ServerDeps, context: ServerContext, client: Client): ClientTraits {
  const name = getClientName(context, client.name);
  return {
    mayGetLinks: shouldGetLinks(deps.resourceLinks, name),
    acceptsAudioBlocks: acceptsAudioBlocks(name),
    putsBytesIntoContext: putsBytesIntoContext(name),
  };
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

/**
 * Creates a function that calls a tool, and renders its result or its error for the client. Calls that are answered as
 * MCP tasks use the same function as plain calls.
 */
export function createRunCall(
  tool: Tool,
  deps: ServerDeps,
  context: ServerContext,
  client: Client = {},
): RunCall {
  const toolDeps = capDefaultWait(deps, client);
  const traits = detectClientTraits(deps, context, client);
  return async (args, call) => {
    try {
      // The result of an MCP task always asks the assistant to tell the user the path, because nobody knows which of
      // several results a client shows first.
      const callDeps = call.handle === undefined ? toolDeps : { ...toolDeps, takeFirstSuccess: () => true };
      const answer = await tool.run(args, callDeps, call);
      const note = tool.annotations.openWorldHint && answer.question === undefined ? deps.takeNextResultNote() : null;
      const { work = "none", question } = answer;
      return { result: await toCallResult(withNote(answer, note), traits), work, question };
    } catch (thrown) {
      const error = toAudioError(thrown, args, listPublishedArguments(tool));
      if (!call.signal.aborted) logFailure(tool, error, deps.log);
      return { result: renderErrorResult(error, deps.redact), work: deriveWorkOfError(error) };
    }
  };
}

/**
 * Runs a tool and converts every error to an `isError` result.
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
}
