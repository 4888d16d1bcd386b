/**
 * Parses values from the host, which may have any shape. Does not use zod, because zod would exceed the page's size
 * limit.
 */

export type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns an object's fields, or no fields for any other value. */
export const parseFields = (value: unknown): Fields => (isFields(value) ? value : {});

/** Returns the first entries of a list, or no entries for any other value. */
export const parseEntries = (value: unknown, max = 2000): readonly unknown[] =>
  Array.isArray(value) ? value.slice(0, max) : [];

/** Matches invisible characters, and those that change the direction of text. */
const INVISIBLE_CHARACTERS =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/**
 * Returns a text to show: at most `max` characters, and an ellipsis if the text was longer. Returns an empty text for
 * any value that is not a string.
 */
export const parseText = (value: unknown, max = 600): string => {
  if (typeof value !== "string") return "";
  const visible = value.slice(0, max).replace(INVISIBLE_CHARACTERS, "");
  return value.length > max ? `${visible}…` : visible;
};

/** Returns a number from 0 to `max`, or null for any other value. */
export const parseNumber = (value: unknown, max = Number.MAX_SAFE_INTEGER): number | null =>
  typeof value === "number" && value >= 0 && value <= max ? value : null;

const ID_PATTERN = /^[A-Za-z0-9][\w.:-]{0,255}$/;

/** Returns the id of a task or narration, or an empty text for any other value. */
export const parseId = (value: unknown): string =>
  typeof value === "string" && ID_PATTERN.test(value) ? value : "";

/** Joins the text blocks of a tool's result. */
export const parseResultText = (result: Fields): string =>
  parseEntries(result["content"], 20)
    .map((block) => parseText(parseFields(block)["text"], 2000))
    .join("\n")
    .trim();
