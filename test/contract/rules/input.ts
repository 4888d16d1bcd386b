/** Accepted and refused values of each field, and the rules between fields (docs/contract.md, AudioInput). */
import { OUTPUT_FORMATS, SAMPLE_RATES } from "../../../src/contract/audio-format.ts";
import { MAX_PROMPT_CODE_POINTS, MAX_URL_CODE_POINTS } from "../../../src/contract/service-limits.ts";
import { VOICE_IDS } from "../../../src/contract/voices.ts";
import type { RuleBook } from "../rule-book.ts";
import { expectError, type ServiceClient } from "../service-client.ts";

const PREFIX = "https://example.com/";
const urlOfLength = (length: number): string => PREFIX + "a".repeat(length - PREFIX.length);
const urls = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${PREFIX}${index + 1}.mp3`);

/** Each row: a field, a refused value in words, and the fields that are added to `{ prompt: "Hello." }`. */
const REFUSED: ReadonlyArray<readonly [field: string, what: string, fields: Record<string, unknown>]> = [
  ["model", "another model", { model: "audio-2.0" }],
  ["prompt", "no prompt", { prompt: undefined }],
  ["prompt", "an empty prompt", { prompt: "" }],
  ["prompt", "white space only", { prompt: " \n\t " }],
  ["prompt", "2,049 code points", { prompt: "a".repeat(MAX_PROMPT_CODE_POINTS + 1) }],
  ["prompt", "a number", { prompt: 7 }],
  ["voice", "an unknown voice", { voice: "nobody_en" }],
  ["audio_references", "four references", { audio_references: urls(4) }],
  ["audio_references", "a string in place of a list", { audio_references: urls(1)[0] }],
  ["audio_references", "http", { audio_references: ["http://example.com/a.mp3"] }],
  ["audio_references", "2,049 characters", { audio_references: [urlOfLength(MAX_URL_CODE_POINTS + 1)] }],
  ["audio_references", "credentials", { audio_references: ["https://user:secret@example.com/a.mp3"] }],
  ["audio_references", "loopback addresses", { audio_references: ["https://127.0.0.1/a.mp3"] }],
  ["audio_references", "private addresses", { audio_references: ["https://10.0.0.1/a.mp3"] }],
  ["audio_references", "link-local addresses", { audio_references: ["https://169.254.169.254/a.mp3"] }],
  ["audio_references", "internal names", { audio_references: ["https://localhost/a.mp3"] }],
  ["image_url", "http", { image_url: "http://example.com/a.jpg" }],
  ["image_url", "2,049 characters", { image_url: urlOfLength(MAX_URL_CODE_POINTS + 1) }],
  ["image_url", "a list", { image_url: [`${PREFIX}a.jpg`] }],
  ["output_format", "an unknown format", { output_format: "flac" }],
  ["output_format", "capital letters", { output_format: "MP3" }],
  ["sample_rate", "a rate that is not listed", { sample_rate: 22050 }],
  ["sample_rate", "a string", { sample_rate: "24000" }],
  ["speed", "less than 0.5", { speed: 0.49 }],
  ["speed", "more than 2", { speed: 2.01 }],
  ["speed", "a string", { speed: "1" }],
  ["volume", "less than 0.5", { volume: 0.49 }],
  ["volume", "more than 2", { volume: 2.01 }],
  ["pitch", "less than -12", { pitch: -13 }],
  ["pitch", "more than 12", { pitch: 13 }],
  ["pitch", "a fraction", { pitch: 0.5 }],
  ["multilingual", "a string", { multilingual: "true" }],
];

/**
 * Each row: a field, its accepted values in words, and inputs that have them. Each input is sent in its own request.
 */
const ACCEPTED: ReadonlyArray<readonly [field: string, what: string, inputs: Record<string, unknown>[]]> = [
  ["model", "audio-1.0", [{ model: "audio-1.0", pitch: 1 }]],
  [
    "prompt",
    "one code point, and 2,048 that are two code units each",
    [{ prompt: "a" }, { prompt: `${"\u{1f600}".repeat(MAX_PROMPT_CODE_POINTS - 1)}a` }],
  ],
  ["voice", "every voice of the list", VOICE_IDS.map((voice) => ({ voice }))],
  [
    "audio_references",
    "three, and one of 2,048 characters",
    [{ audio_references: urls(3) }, { audio_references: [urlOfLength(MAX_URL_CODE_POINTS)] }],
  ],
  ["image_url", "one of 2,048 characters", [{ image_url: urlOfLength(MAX_URL_CODE_POINTS) }]],
  ["output_format", "every format", OUTPUT_FORMATS.map((format) => ({ output_format: format, pitch: 1 }))],
  ["sample_rate", "every rate", SAMPLE_RATES.map((rate) => ({ sample_rate: rate, pitch: 1 }))],
  ["speed", "0.5 and 2", [{ speed: 0.5 }, { speed: 2 }]],
  ["volume", "0.5 and 2", [{ volume: 0.5 }, { volume: 2 }]],
  ["pitch", "-12 and 12", [{ pitch: -12 }, { pitch: 12 }]],
  ["multilingual", "true", [{ multilingual: true }]],
];

export function inputRules(book: RuleBook, client: ServiceClient): void {
  const expectInvalid = async (fields: Record<string, unknown>): Promise<void> =>
    expectError(await client.create({ prompt: "Hello.", ...fields }), 400, "invalid_request");

  for (const [field, what, inputs] of ACCEPTED) {
    book.rule(`2.1 ${field}`, `accepts ${what}`, async () => {
      for (const fields of inputs) await client.expectValid({ prompt: "Hello.", ...fields });
    });
  }
  for (const [field, what, fields] of REFUSED) {
    book.rule(`2.1 ${field}`, `refuses ${what}`, async () => expectInvalid(fields));
  }
  for (const field of ["speed", "volume"]) {
    book.rule(`2.1 ${field}`, "refuses numbers that are not finite", async () => {
      const body = `{"prompt":"Hello.","${field}":1e400}`;
      expectError(await client.create(undefined, { body }), 400, "invalid_request");
    });
  }

  book.rule("2.1.1", "a voice leaves room for two audio references", async () => {
    await client.expectValid({ prompt: "Hello.", voice: "sophie_en_zh", audio_references: urls(2) });
    await expectInvalid({ voice: "sophie_en_zh", audio_references: urls(3) });
  });
  book.rule("2.1.2", "an image excludes a voice and audio references, but not an empty list", async () => {
    const image_url = `${PREFIX}a.jpg`;
    await client.expectValid({ prompt: "Hello.", image_url, audio_references: [] });
    await expectInvalid({ image_url, voice: "sophie_en_zh" });
    await expectInvalid({ image_url, audio_references: urls(1) });
  });
  book.rule("2.1.3", "refuses a field that it does not know", async () => {
    await expectInvalid({ title: "Hello" });
  });
  book.rule("2.1.3", "refuses a body that is not an object, or no JSON", async () => {
    for (const body of ["[]", '"Hello."', "null", '{"prompt":"Hello."', "Hello."]) {
      expectError(await client.create(undefined, { body }), 400, "invalid_request");
    }
  });
}
