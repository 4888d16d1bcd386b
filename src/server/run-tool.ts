/** Runs a tool for the protocol: progress, cancellation, and the only place that catches what tools throw. */
import type { CallToolResult, ContentBlock, ServerContext } from "@modelcontextprotocol/server";
import { AudioError } from "../errors.ts";
import { describeCause, type Log } from "../log.ts";
import type { Redact } from "../redaction.ts";
import type { Tool, ToolDeps, ToolResult } from "../tools/tool.ts";
import { asAudioError, errorResult } from "./error-result.ts";

export interface ServerDeps {
  readonly tools: ToolDeps;
  readonly redact: Redact;
  /** Whether a text holds the API key or a password of the settings. */
  readonly holdsSecret: (text: string) => boolean;
  readonly log: Log;
}

function inlineBlock({ uri, mimeType, bytes }: NonNullable<ToolResult["inline"]>): ContentBlock {
  const data = Buffer.from(bytes).toString("base64");
  // Raw pcm is no playable audio type, so it travels as a resource.
  if (!mimeType.startsWith("audio/")) return { type: "resource", resource: { uri, mimeType, blob: data } };
  return { type: "audio", data, mimeType };
}

function callResult(result: ToolResult): CallToolResult {
  const content: ContentBlock[] = [{ type: "text", text: result.text }];
  if (result.link !== undefined) {
    const { uri, name, mimeType, sizeBytes } = result.link;
    content.push({ type: "resource_link", uri, name, mimeType, size: sizeBytes });
  }
  if (result.inline !== undefined) content.push(inlineBlock(result.inline));
  return { content, structuredContent: result.structured };
}

/** Sends progress only where the client gave a token, always increasing. */
function progressSender(context: ServerContext, log: Log): (message: string) => void {
  const progressToken = context.mcpReq._meta?.progressToken;
  if (progressToken === undefined) return () => undefined;
  let progress = 0;
  return (message) => {
    progress += 1;
    context.mcpReq
      .notify({ method: "notifications/progress", params: { progressToken, progress, message } })
      .catch((cause: unknown) => log.debug(`a progress notification could not be sent: ${String(cause)}`));
  };
}

/** What a call says ends up at the service, in the ledger and in file names, and the key belongs into none of them. */
function refuseSecrets(args: unknown, holdsSecret: (text: string) => boolean): void {
  if (!holdsSecret(JSON.stringify(args))) return;
  throw new AudioError(
    "invalid_request",
    "The arguments hold this server's API key or a password of its settings. Nothing was sent or stored.",
    {
      remedy:
        "Call again without it: the key belongs into AUDIO_API_KEY alone. Tell the user where it stood.",
    },
  );
}

/** Says on stderr what went wrong; a client that cancelled is no failure. */
function logFailure(tool: Tool, error: AudioError, log: Log): void {
  log.info(`${tool.name} answered ${error.code}`);
  if (error.cause === undefined) return;
  if (error.code === "unexpected_response" && error.httpStatus === undefined) {
    log.error(`${tool.name} failed`, error.cause);
  } else log.debug(`cause of ${error.code}: ${describeCause(error.cause)}`);
}

/** Runs a tool; whatever it throws becomes an `isError` result, here and nowhere else. */
export async function runTool(
  tool: Tool,
  args: unknown,
  deps: ServerDeps,
  context: ServerContext,
): Promise<CallToolResult> {
  const { signal } = context.mcpReq;
  const send = progressSender(context, deps.log);
  const onProgress = (message: string): void => send(deps.redact(message));
  try {
    refuseSecrets(args, deps.holdsSecret);
    // Wrong settings first: whoever has none yet must not be sent after the arguments.
    if (tool.annotations.openWorldHint) deps.tools.assertConfigured();
    return callResult(await tool.handle(args, deps.tools, { signal, onProgress }));
  } catch (thrown) {
    const error = asAudioError(thrown, args, Object.keys(tool.input.shape));
    if (!signal.aborted) logFailure(tool, error, deps.log);
    return errorResult(error, deps.redact);
  } finally {
    // The official client drops a notification that arrives in the same chunk as the result.
    await new Promise(setImmediate);
  }
}
