/**
 * Reads lists of arguments in the shapes in which assistants write them: one element in place of a list, an object in
 * place of lines, other names of fields. What it cannot read stays, so that the schema refuses it in its own words.
 */
import { SPEAKER_SETTING_NAMES } from "../contract/request-fields.ts";

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Reads an object as one pair, if it has a field of both kinds of names; else each field is a pair. */
function toPairs(fields: Fields, keys: string, values: string): Array<[unknown, unknown]> {
  const find = (names: string): string | undefined =>
    Object.keys(fields).find((name) => names.split(" ").includes(name.toLowerCase()));
  const [key, value] = [find(keys), find(values)];
  if (key === undefined || value === undefined) return Object.entries(fields);
  const { [key]: first, ...rest } = fields;
  return [[first, Object.keys(rest).length === 1 ? rest[value] : rest]];
}

/** Splits several pairs in one text, such as `A=B, C=D`. Keeps the text if a piece is no pair. */
function splitPairs(text: string, pair: RegExp): string[] {
  const pieces = text.split(/[\n;,]+/).filter((piece) => piece.trim() !== "");
  return pieces.every((piece) => pair.test(piece)) ? pieces.map((piece) => piece.trim()) : [text];
}

/** Creates the conversion of a list. An object in its place is one element. */
const createConversion =
  (ofText: (text: string) => readonly unknown[], ofFields: (fields: Fields) => readonly unknown[]) =>
  (given: unknown): unknown => {
    const list: unknown = isFields(given) ? [given] : given;
    if (!Array.isArray(list)) return list;
    return list.flatMap((element: unknown) => {
      if (typeof element === "string") return ofText(element);
      return isFields(element) ? ofFields(element) : [element];
    });
  };

const SAY_NAMES = "say as to spelling pronunciation pronounced respelling spoken sounds_like replacement";

/** Converts rules of pronunciation to lines `word=spelling`. */
export const toRuleLines = createConversion(
  (text) =>
    splitPairs(text, /[^=]=[^=]/).map((line) =>
      line.includes("=") ? line : line.replace(/\s*(?:->|=>|→|:)\s*/, "="),
    ),
  (rule) =>
    toPairs(rule, "word text from name term original written", SAY_NAMES).map(
      ([word, say]) => `${word}=${say}`,
    ),
);

const VOICE_NAMES = "voice voice_id id";

/** Words a speaker's voice with its settings, as `sophie_en_zh speed 0.9`. */
function toVoiceWords(value: unknown): string {
  if (!isFields(value)) return String(value);
  const isVoice = ([name]: [string, unknown]): boolean => VOICE_NAMES.split(" ").includes(name);
  const [voice, ...settings] = Object.entries(value).sort((a, b) => Number(isVoice(b)) - Number(isVoice(a)));
  return [voice?.[1], ...settings.flat()].join(" ");
}

/**
 * Converts speakers to the lines that the schema publishes (`NAME: voice`). The schema publishes no object of speakers,
 * because Gemini refuses a request if one of its tools has an object with unnamed fields
 * (MarkusPfundstein/mcp-obsidian#21).
 */
export const toSpeakerLines = createConversion(
  (text) => splitPairs(text, new RegExp(`^(?!\\s*(?:${SPEAKER_SETTING_NAMES.join("|")})\\b)[^:=]+[:=]`, "i")),
  (speaker) =>
    toPairs(speaker, "name speaker character role label", VOICE_NAMES).map(
      ([name, voice]) => `${name}: ${toVoiceWords(voice)}`,
    ),
);

/** Converts edits: other names of the fields, and an object of old words and new ones. */
export const toEdits = createConversion(
  (text) => [text],
  (edit) =>
    "quote" in edit || "replacement" in edit
      ? [edit]
      : toPairs(edit, "old find from search original before", "new replace to with after").map(
          ([quote, replacement]) => ({ quote, replacement }),
        ),
);

/** Converts retakes: a text is a quote. */
export const toRetakes = createConversion(
  (quote) => [{ quote }],
  (retake) => [retake],
);
