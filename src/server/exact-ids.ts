/**
 * Keeps the digits of ids that are numbers. JavaScript rounds integers above 2^53, and a client would not recognise the
 * answer.
 */

/** Matches the members of a message whose values are sent back, with a number as their value. */
const NUMERIC_ID = /"(?:id|requestId|progressToken)"\s*:\s*(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/g;

/**
 * Begins the text that stands for a number while the message is inside this process. No client can know it. It is made
 * for the first such number, because a start without random numbers is quicker.
 */
let prefix: string | undefined;

type Members = Record<string, unknown>;
const isObject = (value: unknown): value is Members => typeof value === "object" && value !== null;

/** Copies the ids of `exact` into the places of a message that hold ids. Other members, such as arguments, stay. */
function withIdsOf(message: Members, exact: Members): Members {
  const copied = { ...message };
  if ("id" in exact) copied["id"] = exact["id"];
  const [params, exactParams] = [message["params"], exact["params"]];
  if (!isObject(params) || !isObject(exactParams)) return copied;
  const copiedParams = { ...params };
  if ("requestId" in exactParams) copiedParams["requestId"] = exactParams["requestId"];
  const [meta, exactMeta] = [params["_meta"], exactParams["_meta"]];
  if (isObject(meta) && isObject(exactMeta) && "progressToken" in exactMeta)
    copiedParams["_meta"] = { ...meta, progressToken: exactMeta["progressToken"] };
  return { ...copied, params: copiedParams };
}

/**
 * Parses a message. An integer that stands for an id and would lose its digits becomes a text, which
 * {@link restoreIds} turns back.
 *
 * @throws SyntaxError if the line is not JSON
 */
export function parseWithExactIds(line: string): unknown {
  const value: unknown = JSON.parse(line);
  const losesDigits = (source: string): boolean =>
    Number.isInteger(Number(source)) && String(Number(source)) !== source;
  if (![...line.matchAll(NUMERIC_ID)].some(([, source = ""]) => losesDigits(source))) return value;
  prefix ??= `number-${crypto.randomUUID()}:`;
  const keep = (_key: string, member: unknown, context?: { readonly source?: string }): unknown => {
    const source = context?.source ?? "";
    return typeof member === "number" && losesDigits(source) ? `${prefix}${source}` : member;
  };
  const exact: unknown = JSON.parse(line, keep);
  return isObject(value) && isObject(exact) && !Array.isArray(value) ? withIdsOf(value, exact) : value;
}

/** Puts the digits of ids back into a line of JSON. */
export const restoreIds = (line: string): string =>
  prefix === undefined ? line : line.replace(new RegExp(`"${prefix}([^"]+)"`, "g"), "$1");
