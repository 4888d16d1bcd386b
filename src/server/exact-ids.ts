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

const ID_NAMES: ReadonlySet<string> = new Set(["id", "requestId", "progressToken"]);

const losesDigits = (source: string): boolean =>
  Number.isInteger(Number(source)) && String(Number(source)) !== source;

/**
 * Parses a message. An integer that stands for an id and would lose its digits becomes a text, which
 * {@link restoreIds} turns back.
 *
 * @throws SyntaxError if the line is not JSON
 */
export function parseWithExactIds(line: string): unknown {
  if (![...line.matchAll(NUMERIC_ID)].some(([, source = ""]) => losesDigits(source))) return JSON.parse(line);
  prefix ??= `number-${crypto.randomUUID()}:`;
  const keep = (
    name: string,
    member: unknown,
    { source = "" }: { readonly source?: string } = {},
  ): unknown =>
    typeof member === "number" && ID_NAMES.has(name) && losesDigits(source) ? `${prefix}${source}` : member;
  return JSON.parse(line, keep);
}

/** Puts the digits of ids back into a line of JSON. */
export const restoreIds = (line: string): string =>
  prefix === undefined ? line : line.replace(new RegExp(`"${prefix}([^"]+)"`, "g"), "$1");
