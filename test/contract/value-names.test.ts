/** Tests other names of languages and values. */
import { expect, it } from "vitest";
import { OUTPUT_FORMATS } from "../../src/contract/audio-format.ts";
import { findLanguage, findNamedValue } from "../../src/contract/value-names.ts";

it.each([
  [
    "es",
    [
      "es-MX",
      "es_ES",
      "ES",
      "español",
      "Espanol",
      "Spanish",
      "Castellano",
      "spa",
      "Latin American Spanish",
      "Spanisch",
      "西班牙语",
      "en español",
      "Spanish (Mexico)",
    ],
  ],
  ["pt", ["pt-BR", "pt_PT", "Brazilian Portuguese", "português", "portugues do Brasil", "por", "Brazilian"]],
  [
    "zh",
    [
      "zh",
      "zh-Hans",
      "zh-TW",
      "zh_Hant_TW",
      "Mandarin",
      "Mandarin Chinese",
      "中文",
      "普通话",
      "Simplified Chinese",
      "cmn",
      "chinois",
    ],
  ],
  ["en", ["en_GB", "en-us", "British", "British English", "American English", "inglés", "Englisch", "英語"]],
  ["ja", ["ja-JP", "日本語", "japonais", "Japanese"]],
  ["id", ["id-ID", "Bahasa Indonesia", "Indonesian", "bahasa"]],
])("a language %s is found as %j", (code, names) => {
  expect(names.map((name) => [name, findLanguage(name)])).toEqual(names.map((name) => [name, code]));
});

it.each(["Deutsch", "français", "fr-CA", "Korean", "xx", "", "Sophie", "warm"])(
  "a language %j is none",
  (name) => {
    expect(findLanguage(name)).toBeNull();
  },
);

it.each([
  ["ogg", "ogg_opus"],
  [".ogg", "ogg_opus"],
  ["Opus", "ogg_opus"],
  ["OGG Opus", "ogg_opus"],
  ["audio/ogg", "ogg_opus"],
  [".wav", "wav"],
  ["WAVE", "wav"],
  ["audio/x-wav", "wav"],
  ["MP3", "mp3"],
  [".mp3", "mp3"],
  ["audio/mpeg", "mp3"],
  ["raw", "pcm"],
  ["flac", undefined],
])("the format %j is %j", (name, format) => {
  expect(findNamedValue(name, OUTPUT_FORMATS)).toBe(format);
});
