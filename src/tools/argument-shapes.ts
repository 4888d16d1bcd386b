/**
 * Reads lists of arguments in the shapes in which assistants write them: one element in place of a list, an object in
 * place of lines, other names of fields. What it cannot read stays, so that the schema refuses it in its own words.
 */

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Renames fields by a table of names; other fields stay. */
function renameFields(fields: Fields, names: Readonly<Record<string, string>>): Fields {
  const nameOf = (key: string): string =>
    Object.keys(names).find((name) => names[name]?.split(" ").includes(key.toLowerCase())) ?? key;
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [nameOf(key), value]));
}

/** Splits several pairs in one text, such as `A=B, C=D`. Keeps the text if a piece is no pair. */
function splitPairs(text: string, isPair: (piece: string) => boolean): string[] {
  const pieces = text.split(/[\n;,]+/).filter((piece) => piece.trim() !== "");
  return pieces.length > 1 && pieces.every(isPair) ? pieces.map((piece) => piece.trim()) : [text];
}

/** Converts each element of a list; a single element counts as a list. */
function convertEach(value: unknown, convert: (element: unknown) => readonly unknown[]): unknown {
  if (Array.isArray(value)) return value.flatMap(convert);
  return isFields(value) ? convert(value) : value;
}

const RULE_FIELDS = {
  word: "word text from name term original written",
  say: "say as to spelling pronunciation pronounced pronounce respelling spoken sounds_like replacement",
};

/** Converts rules of pronunciation to lines `word=spelling`. */
export const toRuleLines = (rules: unknown): unknown =>
  convertEach(rules, (rule) => {
    if (typeof rule === "string") {
      const lines = splitPairs(rule, (piece) => /[^=]=[^=]/.test(piece));
      return lines.map((line) => (line.includes("=") ? line : line.replace(/\s*(?:->|=>|→|:)\s*/, "=")));
    }
    if (!isFields(rule)) return [rule];
    const { word, say, ...rest } = renameFields(rule, RULE_FIELDS);
    const isRule = word !== undefined && say !== undefined && Object.keys(rest).length === 0;
    return isRule
      ? [`${word}=${say}`]
      : Object.entries(rule).map(([each, spelling]) => `${each}=${spelling}`);
  });

const SPEAKER_FIELDS = { name: "name speaker character role label", voice: "voice voice_id id" };

/** Words a speaker's voice with its settings, as `sophie_en_zh speed 0.9`. */
function toVoiceWords(value: unknown): string {
  if (!isFields(value)) return String(value);
  const { voice, ...settings } = renameFields(value, { voice: SPEAKER_FIELDS.voice });
  return [voice, ...Object.entries(settings).flat()].join(" ");
}

/**
 * Converts speakers to the lines that the schema publishes (`NAME: voice`). The schema publishes no object of speakers,
 * because Gemini refuses a request if one of its tools has an object with unnamed fields
 * (MarkusPfundstein/mcp-obsidian#21).
 */
export const toSpeakerLines = (voices: unknown): unknown =>
  convertEach(voices, (speaker) => {
    if (typeof speaker === "string")
      return splitPairs(speaker, (piece) => /^(?!\s*(?:speed|pitch|volume)\b)[^:=]+[:=]/i.test(piece));
    if (!isFields(speaker)) return [speaker];
    const { name, ...voice } = renameFields(speaker, SPEAKER_FIELDS);
    if (typeof name === "string" && "voice" in voice) return [`${name}: ${toVoiceWords(voice)}`];
    return Object.entries(speaker).map(([each, value]) => `${each}: ${toVoiceWords(value)}`);
  });

const EDIT_FIELDS = {
  quote: "quote old find from search original before old_text",
  replacement: "replacement new replace to with replace_with after new_text",
};

/** Converts edits: other names of the fields, and an object of old words and new ones. */
export const toEdits = (edits: unknown): unknown =>
  convertEach(edits, (edit) => {
    if (!isFields(edit)) return [edit];
    const fields = renameFields(edit, EDIT_FIELDS);
    if ("quote" in fields || "replacement" in fields) return [fields];
    return Object.entries(edit).map(([quote, replacement]) => ({ quote, replacement }));
  });

const RETAKE_FIELDS = {
  quote: "quote text words passage",
  chapter: "chapter chapters",
  take: "take version",
};

/** Converts retakes: a text is a quote. */
export const toRetakes = (retakes: unknown): unknown =>
  convertEach(retakes, (retake) => {
    if (typeof retake === "string") return [{ quote: retake }];
    return [isFields(retake) ? renameFields(retake, RETAKE_FIELDS) : retake];
  });
