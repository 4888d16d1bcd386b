/**
 * Handles invalid JSON-RPC: treats null as absent, answers malformed requests, shortens Zod dumps
 * (docs/reference.md, Malformed requests).
 */
import { ProtocolErrorCode } from "@modelcontextprotocol/server";
import { z } from "zod";
import { parseJson } from "../parse-json.ts";

type Members = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Maximum depth of objects from which `null` members are removed. Deeper objects stay unchanged. They are custom data,
 * because no optional member of the protocol is nested so deeply.
 */
const MAX_DEPTH = 8;

function withoutNullMembers(value: unknown, depth = 0): unknown {
  if (!isObject(value) || depth > MAX_DEPTH) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== null)
      .map(([name, member]) => [name, withoutNullMembers(member, depth + 1)]),
  );
}

/**
 * Removes `null` members from parameters. Leaves the arguments of a tool unchanged, because the tool checks them
 * itself.
 */
function paramsWithoutNulls(method: unknown, params: unknown): unknown {
  const withoutNulls = withoutNullMembers(params);
  const isCall = method === "tools/call" && isObject(params) && isObject(params["arguments"]);
  return isCall && isObject(withoutNulls)
    ? { ...withoutNulls, arguments: params["arguments"] }
    : withoutNulls;
}

/**
 * Removes `null` members from a message's parameters and result, because clients in some languages write absent members
 * as `null`. Keeps an id of `null`, because a request without an id would be a notification.
 */
export function withoutNulls(message: unknown): unknown {
  if (!isObject(message)) return message;
  return Object.fromEntries(
    Object.entries(message).flatMap(([name, member]): Array<[string, unknown]> => {
      if (name === "params")
        return member === null ? [] : [[name, paramsWithoutNulls(message["method"], member)]];
      return [[name, name === "result" ? withoutNullMembers(member) : member]];
    }),
  );
}

/** The refusal of an invalid message. `id` is the message's id, or `null` if the message has no valid id. */
export interface InvalidMessageReply {
  readonly id: string | number | null;
  readonly code: ProtocolErrorCode;
  /** The defect of the message, as one sentence. */
  readonly message: string;
  /** Whether the sender waits for an answer. False for notifications and responses. */
  readonly isAwaited: boolean;
}

export const NOT_JSON: InvalidMessageReply = {
  id: null,
  code: ProtocolErrorCode.ParseError,
  message: "This line is not JSON. Each message is one line of JSON-RPC 2.0.",
  isAwaited: true,
};

/**
 * Maximum number of levels in a message. No message of the protocol needs so many levels. Without the limit, a deeply
 * nested message could overflow the stack, because messages are read recursively.
 */
const MAX_LEVELS = 100;

const isContainer = (value: unknown): value is object => typeof value === "object" && value !== null;

/** Whether a message nests lists and objects at more than {@link MAX_LEVELS} levels. */
export function isNestedTooDeeply(message: unknown): boolean {
  let level = [message].filter(isContainer);
  for (let depth = 0; depth < MAX_LEVELS && level.length > 0; depth += 1)
    level = level.flatMap((each) => Object.values(each).filter(isContainer));
  return level.length > 0;
}

/** Builds the refusal of a message for which {@link isNestedTooDeeply} is true. */
export const buildTooDeepReply = (value: unknown): InvalidMessageReply => ({
  ...buildInvalidMessageReply(value),
  message: `This message nests lists and objects at more than ${MAX_LEVELS} levels.`,
});

const SHORT_MEMBER = String.raw`"(?:jsonrpc|method|id)"\s*:\s*(?:"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*)\s*`;
const FIRST_MEMBERS = new RegExp(String.raw`^\uFEFF?\s*\{\s*((?:${SHORT_MEMBER},\s*)*)`);
const LAST_MEMBERS = new RegExp(String.raw`,\s*(${SHORT_MEMBER}(?:,\s*${SHORT_MEMBER})*)\}\s*$`);

/**
 * Builds the refusal of a message that is too long to be read. Clients write its id before or behind the long member.
 *
 * @param ends the beginning and the end of the line
 */
export function buildTooLongReply(ends: string, parse: (json: string) => unknown): InvalidMessageReply {
  const members = `${FIRST_MEMBERS.exec(ends)?.[1] ?? ""}${LAST_MEMBERS.exec(ends)?.[1] ?? ""}`;
  const value = parse(`{${members.replace(/,\s*$/, "")}}`);
  const isNamed = isObject(value) && "id" in value;
  return {
    ...buildInvalidMessageReply(value),
    message:
      "This message is longer than 10 MiB, so it was not read. A long text can be given as a file: narrate with `file`.",
    // A response has an id and no method, a notification a method and no id.
    isAwaited: isNamed === (isObject(value) && "method" in value),
  };
}

const REQUEST_MEMBERS = ["jsonrpc", "id", "method", "params"];

function describeInvalidRequest(message: Members): string {
  const { jsonrpc, id, method, params } = message;
  const isToken = (value: unknown): boolean => typeof value === "string" || Number.isSafeInteger(value);
  if (jsonrpc !== "2.0") return 'jsonrpc must be "2.0"';
  if (typeof method !== "string") return "method must be a string";
  if ("id" in message && !isToken(id)) return "id must be a string or an integer";
  if (params !== undefined && !isObject(params)) return "params must be an object";
  const meta = params?.["_meta"];
  if (meta !== undefined && !isObject(meta)) return "params._meta must be an object";
  const token = meta?.["progressToken"];
  if (token !== undefined && !isToken(token))
    return "params._meta.progressToken must be a string or an integer";
  const unknownMember = Object.keys(message).find((name) => !REQUEST_MEMBERS.includes(name));
  return unknownMember === undefined
    ? "something in params._meta is not of its kind"
    : `a request has no member ${JSON.stringify(unknownMember.slice(0, 40))}`;
}

/** Builds the refusal of a value that the protocol's schema rejects. */
export function buildInvalidMessageReply(value: unknown): InvalidMessageReply {
  const baseReply = { id: null, code: ProtocolErrorCode.InvalidRequest, isAwaited: true };
  if (Array.isArray(value)) {
    return { ...baseReply, message: "Batches are not spoken here. Send each message in a line of its own." };
  }
  if (!isObject(value))
    return { ...baseReply, message: "This is not a request: a message must be an object." };
  const { id } = value;
  const isAnswer = !("method" in value) && ("result" in value || "error" in value);
  const isNotification = !("id" in value) && typeof value["method"] === "string";
  return {
    ...baseReply,
    id: typeof id === "string" || (typeof id === "number" && Number.isFinite(id)) ? id : null,
    message: isAnswer
      ? "This is not a response of JSON-RPC 2.0."
      : `This is not a request: ${describeInvalidRequest(value)}.`,
    isAwaited: !isAnswer && !isNotification,
  };
}

const KIND_NAMES: Readonly<Record<string, string>> = {
  array: "a list",
  boolean: "true or false",
  int: "a whole number",
  number: "a number",
  object: "an object",
  record: "an object",
  string: "a string",
};

/** The issues of the protocol's schema, as the SDK dumps them. */
const dumpSchema = z.array(
  z.object({
    path: z.array(z.union([z.string(), z.number()])),
    message: z.string(),
    expected: z.string().optional().catch(undefined),
  }),
);

function describeParamsIssue({ path, message, expected = "" }: z.infer<typeof dumpSchema>[number]): string {
  const field = path.join(".");
  if (message.endsWith("received undefined")) return `${field} is required`;
  const kind = KIND_NAMES[expected];
  return kind === undefined ? `${field}: ${message.slice(0, 200)}` : `${field} must be ${kind}`;
}

/**
 * Rewrites an SDK error about an invalid request. Replaces the SDK's dump of schema issues by one sentence. Replaces
 * the code by that of invalid parameters, because the SDK sometimes uses the code of a server error.
 *
 * @returns `null` for any other error
 */
export function rewriteZodError(error: { readonly code: number; readonly message: string }) {
  const [, head = "Invalid request: ", dump = null] =
    /^(Invalid \S+ request: )?(\[\s*\{[\s\S]*\}\s*\])$/.exec(error.message) ?? [];
  const [issue] = parseJson(dumpSchema, dump) ?? [];
  if (issue?.path[0] !== "params") return null;
  return {
    ...error,
    code: ProtocolErrorCode.InvalidParams,
    message: `${head}${describeParamsIssue(issue)}.`,
  };
}
