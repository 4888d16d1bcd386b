/** Knows other names of the values of arguments: of voices, languages, formats and statuses, as models write them. */
import { LANGUAGES, type Language, VOICES } from "./voices.ts";

/** Converts a name to the form of ids. */
export const toId = (text: string): string =>
  text
    .trim()
    .toLowerCase()
    .replaceAll(/[\s-]+/g, "_");

const OTHER_NAMES = {
  mp3: "mpeg mpeg3 mpga",
  wav: "wave x_wav vnd.wave",
  pcm: "raw l16 s16le pcm16 pcm_s16le",
  ogg_opus: "ogg opus oga",
  succeeded: "success successful completed complete done saved ready",
  failed: "failure error errors",
  running: "in_progress active ongoing",
  waiting: "pending",
  stopped: "cancelled canceled",
  planned: "plan draft",
  one: "single 1 one_file",
  chapters: "chapter per_chapter by_chapter",
};

/** Maps names to ids. */
const VALUES_BY_NAME: ReadonlyMap<string, string> = new Map([
  ...VOICES.map(({ id, name }) => [toId(name), id] as const),
  ...Object.entries(OTHER_NAMES).flatMap(([id, names]) =>
    names.split(" ").map((name) => [name, id] as const),
  ),
]);

/** Finds the value that a text names, such as `.WAV`, `audio/mpeg`, `Monkey King` or `español`. */
export function findNamedValue<Value extends string>(
  text: string,
  values: readonly Value[],
): Value | undefined {
  const word = toId(text).replace(/^(?:audio\/|\.)/, "");
  const named = VALUES_BY_NAME.get(word);
  const found = values.find((value) => value === word || value === named);
  return found ?? values.find((value) => value === findLanguage(text));
}

/** Names that are no translation of an English name: codes of three letters, peoples, and other names. */
const MORE_LANGUAGE_NAMES: Readonly<Record<Language, string>> = {
  en: "eng british american australian",
  zh: "zho chi cmn mandarin mandarim putonghua 普通话 普通話 汉语 漢語 国语 國語 华语",
  ja: "jpn nihongo",
  es: "spa castilian castellano mexican mexicano argentinian argentino colombian",
  id: "ind bahasa",
  pt: "por brazilian brasileiro",
};
/** The languages in which names of languages are known. */
const NAMING_LOCALES = ["en", ...LANGUAGES, "zh-Hant", "de", "fr", "it", "nl", "ko", "ru"];

const foldName = (name: string): string =>
  name
    .normalize("NFKD")
    .replaceAll(/[\u0300-\u036f]/g, "")
    .toLowerCase();

let languagesByName: ReadonlyMap<string, Language> | undefined;

function loadLanguageNames(): ReadonlyMap<string, Language> {
  const translations = NAMING_LOCALES.map((locale) => new Intl.DisplayNames([locale], { type: "language" }));
  const listNames = (code: Language): string[] => [
    ...translations.map((names) => names.of(code) ?? code),
    ...MORE_LANGUAGE_NAMES[code].split(" "),
  ];
  return new Map(LANGUAGES.flatMap((code) => listNames(code).map((name) => [foldName(name), code] as const)));
}

/**
 * Finds the language that a text names, by its name in some languages (`español`, `Brazilian Portuguese`), or by a code
 * (`es-MX`, `zh-Hans`, `en_GB`). The last name counts: "Latin American Spanish" is Spanish.
 */
export function findLanguage(text: string): Language | null {
  languagesByName ??= loadLanguageNames();
  const names = languagesByName;
  const words = foldName(text).match(/[\p{L}\p{N}]+/gu) ?? [];
  const named = words.findLast((word) => names.has(word));
  return names.get(named ?? "") ?? LANGUAGES.find((code) => code === words[0]) ?? null;
}
