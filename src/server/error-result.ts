/**
 * Renders errors: what happened, what to do, and the facts for programs (docs/reference.md, Errors). Invalid arguments
 * are described by field, rule and received value.
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { type ZodError, z } from "zod";
import { shortenText } from "../contract/unicode.ts";
import { AudioError, internalError } from "../errors.ts";
import type { Redact } from "../redaction.ts";
import { findRemedy } from "../remedies.ts";
import { omitNullish } from "../tools/task-output.ts";
import { BadArgumentsError } from "../tools/tool.ts";

const MAX_ISSUES = 5;
const MAX_VALUE_CODE_POINTS = 60;

function getValueAt(args: unknown, path: readonly PropertyKey[]): unknown {
  let value = args;
  for (const step of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = Reflect.get(value, step);
  }
  return value;
}

/** Quotes a value. Cuts long text, and texts for lists and objects. */
function quoteValue(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(shortenText(value, MAX_VALUE_CODE_POINTS));
  if (typeof value !== "object" || value === null) return String(value);
  return shortenText(JSON.stringify(value), MAX_VALUE_CODE_POINTS);
}

function describeIssue(issue: z.core.$ZodIssue, args: unknown, knownFields: readonly string[]): string {
  const field = z.core.toDotPath(issue.path);
  if (issue.code === "unrecognized_keys") {
    const names = issue.keys
      .slice(0, MAX_ISSUES)
      .map((key) => quoteValue(key))
      .join(", ");
    return field === ""
      ? `unknown argument ${names}; the known ones are ${knownFields.join(", ")}`
      : `${field} has an unknown field ${names}`;
  }
  if (field === "") return "the arguments must be an object";
  const value = getValueAt(args, issue.path);
  // A rule about several fields has the code `custom`. Return its message unchanged, because the message already names
  // the missing field.
  if (value === undefined) return issue.code === "custom" ? issue.message : `${field} is required`;
  return `${field} ${issue.message} (got ${quoteValue(value)})`;
}

/**
 * Describes each issue of the arguments in one sentence.
 *
 * @param args the arguments as sent by the client
 * @param knownFields the tool's argument names, listed if an unknown one was sent
 */
function describeBadInput(error: ZodError, args: unknown, knownFields: readonly string[]): string {
  const nameOf = ({ path }: z.core.$ZodIssue): string => z.core.toDotPath(path);
  // Report only the first issue of a field, because the other issues of the field often follow from it.
  const firsts = error.issues.filter(
    (issue, index) => error.issues.findIndex((other) => nameOf(other) === nameOf(issue)) === index,
  );
  const issues = firsts.slice(0, MAX_ISSUES).map((issue) => describeIssue(issue, args, knownFields));
  return `${issues.join(". ")}.`;
}

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
