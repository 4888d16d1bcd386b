/** Renders errors: what happened, what to do, and the facts for programs (docs/reference.md, Errors). */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { AudioError, internalError } from "../errors.ts";
import type { Redact } from "../redaction.ts";
import { omitNullish } from "../tools/task-output.ts";
import { BadArgumentsError } from "../tools/tool.ts";
import { describeBadInput } from "./describe-bad-input.ts";
import { findRemedy } from "./remedies.ts";

const ERROR_META_KEY = "audio-generation-mcp/error";

/**
 * Converts any thrown value to an `AudioError`. An unexpected error becomes a plain message without the error's own
 * text. A `ZodError` counts as unexpected, because only {@link BadArgumentsError} is an error of the caller.
 */
export function toAudioError(thrown: unknown, args: unknown, knownFields: readonly string[]): AudioError {
  if (thrown instanceof AudioError) return thrown;
  if (thrown instanceof BadArgumentsError) {
    return new AudioError("invalid_request", describeBadInput(thrown.issues, args, knownFields));
  }
  return internalError(thrown);
}

/** Renders an error for an answer that has no results: what happened, and what to do. */
export const renderProtocolError = (error: AudioError): string =>
  `${error.code}: ${error.message} What to do: ${findRemedy(error, "assistant")}`;

/** Renders one text block and `_meta`, without `structuredContent`. Redacts secrets in every string. */
export function renderErrorResult(error: AudioError, redact: Redact): CallToolResult {
  const { code, message, taskId, retryAfterSeconds } = error;
  const id = taskId === undefined ? "" : ` (task_id ${taskId})`;
  const pause = retryAfterSeconds === undefined ? "" : ` Wait ${retryAfterSeconds} s first.`;
  const text = `${code}: ${message}${id}\nWhat to do: ${findRemedy(error, "assistant")}${pause}`;
  // Unknown values are omitted, because some clients fail on `null`.
  const facts = omitNullish({
    code,
    retryable: error.retryable,
    http_status: error.httpStatus,
    retry_after_seconds: retryAfterSeconds,
    task_id: taskId === undefined ? undefined : redact(taskId),
    idempotency_key: error.idempotencyKey,
  });
  return {
    isError: true,
    content: [{ type: "text", text: redact(text) }],
    _meta: { [ERROR_META_KEY]: facts },
  };
}
