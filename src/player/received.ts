/** Reads values that came from the host: every one of them may have any shape. By hand, for the usual library alone is larger than this whole page may be. */

export type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** An object's fields; none for anything else. */
export const fields = (value: unknown): Fields => (isFields(value) ? value : {});

/** The first entries of a list; none for anything else. */
export const entries = (value: unknown, most = 2000): readonly unknown[] =>
  Array.isArray(value) ? value.slice(0, most) : [];

/** Characters that show nothing, or turn the text around them. */
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A text to be shown; empty for anything else. */
export const text = (value: unknown, most = 600): string => {
  if (typeof value !== "string") return "";
  const shown = value.slice(0, most).replace(UNSEEN, "");
  return value.length > most ? `${shown}…` : shown;
};

/** A number from 0 to `most`; `null` for anything else. */
export const amount = (value: unknown, most = Number.MAX_SAFE_INTEGER): number | null =>
  typeof value === "number" && value >= 0 && value <= most ? value : null;

const ID = /^[A-Za-z0-9][\w.:-]{0,255}$/;

/** An id of a task or narration; empty for anything else. */
export const id = (value: unknown): string => (typeof value === "string" && ID.test(value) ? value : "");

/** The text blocks of a tool's result. */
export const textOfResult = (result: Fields): string =>
  entries(result["content"], 20)
    .map((block) => text(fields(block)["text"], 2000))
    .join("\n")
    .trim();
