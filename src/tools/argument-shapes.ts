/**
 * Reads lists of arguments in the shapes in which assistants write them: one element in place of a list, an object in
 * place of lines, other names of fields. What it cannot read stays, so that the schema refuses it in its own words.
 */

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Renames fields by a table of names; other fields stay. */
const renameFields = (fields: Fields, names: Readonly<Record<string, string>>): Fields =>
  Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [
      Object.keys(names).find((name) => names[name]?.split(" ").includes(key.toLowerCase())) ?? key,
      value,
    ]),
  );

/** Splits several pairs in one text, such as `A=B, C=D`. Keeps the text if a piece is no pair. */
function splitPairs(text: string, pair: RegExp): string[] {
  const pieces = text.split(/[\n;,]+/).filter((piece) => piece.trim() !== "");
  return pieces.every((piece) => pair.test(piece)) ? pieces.map((piece) => piece.trim()) : [text];
}

/** Creates the conversion of a list, of which a single object is an element. */
const createConversion =
  (ofText: (text: string) => readonly unknown[], ofFields: (fields: Fields) => readonly unknown[]) =>
  (value: unknown): unknown => {
    if (!Array.isArray(value)) return isFields(value) ? ofFields(value) : value;
    return value.flatMap((element) => {
      if (typeof element === "string") return ofText(element);
      return isFields(element) ? ofFields(element) : [element];
    });
  };

const keep = (text: string): readonly unknown[] => [text];

/** Converts rules of pronunciation to lines `word=spelling`. */
export const toRuleLines = createConversion(
  (text) =>
    splitPairs(text, /[^=]=[^=]/).map((line) =>
      line.includes("=") ? line : line.replace(/\s*(?:->|=>|→|:)\s*/, "="),
    ),
  (fields) => {
    const { word, say } = renameFields(fields, {
      word: "word text from name term original written",
      say: "say as to spelling pronunciation pronounced respelling spoken sounds_like replacement",
    });
    const entries = word === undefined || say === undefined ? Object.entries(fields) : [[word, say]];
    return entries.map(([each, spelling]) => `${each}=${spelling}`);
  },
);

const VOICE_NAMES = "voice voice_id id";

/** Words a speaker's voice with its settings, as `sophie_en_zh speed 0.9`. */
function toVoiceWords(value: unknown): string {
  if (!isFields(value)) return String(value);
  const { voice, ...settings } = renameFields(value, { voice: VOICE_NAMES });
  return [voice, ...Object.entries(settings).flat()].join(" ");
}

/**
 * Converts speakers to the lines that the schema publishes (`NAME: voice`). The schema publishes no object of speakers,
 * because Gemini refuses a request if one of its tools has an object with unnamed fields
 * (MarkusPfundstein/mcp-obsidian#21).
 */
export const toSpeakerLines = createConversion(
  (text) => splitPairs(text, /^(?!\s*(?:speed|pitch|volume)\b)[^:=]+[:=]/i),
  (fields) => {
    const { name, ...voice } = renameFields(fields, {
      name: "name speaker character role label",
      voice: VOICE_NAMES,
    });
    const entries = typeof name === "string" && "voice" in voice ? [[name, voice]] : Object.entries(fields);
    return entries.map(([each, value]) => `${each}: ${toVoiceWords(value)}`);
  },
);

/** Converts edits: other names of the fields, and an object of old words and new ones. */
export const toEdits = createConversion(keep, (edit) => {
  const fields = renameFields(edit, {
    quote: "quote old find from search original before old_text",
    replacement: "replacement new replace to with replace_with after new_text",
  });
  if ("quote" in fields || "replacement" in fields) return [fields];
  return Object.entries(edit).map(([quote, replacement]) => ({ quote, replacement }));
});

/** Converts retakes: a text is a quote. */
export const toRetakes = createConversion(
  (quote) => [{ quote }],
  (retake) => [
    renameFields(retake, {
      quote: "quote text words passage",
      chapter: "chapter chapters",
      take: "take version",
    }),
  ],
);
