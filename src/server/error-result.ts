/** How a failure is shown: what happened, what to do, and the facts for machines (docs/reference.md, Errors). */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { AudioError, ownMistake } from "../errors.ts";
import type { Redact } from "../redaction.ts";
import { BadArguments } from "../tools/tool.ts";
import { describeBadInput } from "./bad-input.ts";
import { REFUSED_BY_SERVICE, REMEDIES, WRONG_ADDRESS } from "./remedies.ts";

const ERROR_META_KEY = "audio-generation-mcp/error";

/**
 * Any thrown value as the one error type. What nobody foresaw, a `ZodError` from inside included, is said plainly
 * and without its inner words: only {@link BadArguments} are the caller's.
 */
export function asAudioError(thrown: unknown, args: unknown, knownFields: readonly string[]): AudioError {
  if (thrown instanceof AudioError) return thrown;
  if (thrown instanceof BadArguments) {
    return new AudioError("invalid_request", describeBadInput(thrown.faults, args, knownFields));
  }
  return ownMistake(thrown);
}

/** The code's usual remedy, where the failure brings none of its own and is of the usual kind. */
export function remedyFor(error: AudioError): string {
  if (error.remedy !== undefined) return error.remedy;
  if (error.code === "invalid_request" && error.httpStatus !== undefined) return REFUSED_BY_SERVICE;
  if (error.code === "unexpected_response" && !error.retryable) return WRONG_ADDRESS;
  return REMEDIES[error.code];
}

/** One text block and `_meta`; no `structuredContent`. Secrets are blotted out of every string. */
export function errorResult(error: AudioError, redact: Redact): CallToolResult {
  const remedy = remedyFor(error);
  const ids = [
    error.taskId === undefined ? "" : ` (task_id ${error.taskId})`,
    error.retryAfterSeconds === undefined ? "" : ` Wait ${error.retryAfterSeconds} s first.`,
  ];
  const text = `${error.code}: ${error.message}${ids[0]}\nWhat to do: ${remedy}${ids[1]}`;
  return {
    isError: true,
    content: [{ type: "text", text: redact(text) }],
    _meta: {
      [ERROR_META_KEY]: {
        code: error.code,
        retryable: error.retryable,
        // What is not known is left out: some clients fail on `null`.
        ...(error.httpStatus === undefined ? {} : { http_status: error.httpStatus }),
        ...(error.retryAfterSeconds === undefined ? {} : { retry_after_seconds: error.retryAfterSeconds }),
        ...(error.taskId === undefined ? {} : { task_id: redact(error.taskId) }),
        ...(error.idempotencyKey === undefined ? {} : { idempotency_key: error.idempotencyKey }),
      },
    },
  };
}
