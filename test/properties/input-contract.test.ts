/**
 * Compares the schemas of `src/contract/` with the rules of docs/contract.md, AudioInput, which this file states again.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { audioInputSchema } from "../../src/contract/audio-input.ts";

const FIELDS = [
  "model",
  "prompt",
  "voice",
  "audio_references",
  "image_url",
  "output_format",
  "sample_rate",
  "speed",
  "volume",
  "pitch",
  "multilingual",
];
/** The text of docs/contract.md, Voices. */
const [, VOICE_SECTION = ""] =
  /^## Voices$(.*?)^## /ms.exec(
    readFileSync(join(import.meta.dirname, "..", "..", "docs", "contract.md"), "utf8"),
  ) ?? [];
const VOICES = [...VOICE_SECTION.matchAll(/`(\w+)`/g)].map((match) => match[1] ?? "");
const PUBLIC = [
  "https://example.com/a.mp3",
  "https://cdn.example.org:8443/x?y=z#w",
  "https://8.8.8.8/",
  `https://example.com/${"p".repeat(2028)}`,
];
const NOT_PUBLIC = [
  "http://example.com/",
  "HTTPS://example.com/",
  "https://u:p@example.com/",
  "https://localhost/",
  "https://192.168.1.1/",
  "https://[fe80::1]/",
  "https://",
  "example.com",
  "",
  `https://example.com/${"p".repeat(2029)}`,
];

type Input = Readonly<Record<string, unknown>>;

const isOneOf = (value: unknown, values: readonly unknown[]): boolean => values.includes(value);
const isWithin = (value: unknown, least: number, most: number): boolean =>
  typeof value === "number" && Number.isFinite(value) && value >= least && value <= most;

function isPrompt(value: unknown): boolean {
  if (typeof value !== "string") return false;
  const codePoints = Array.from(value);
  const isWhole = codePoints.every((point) => !/^[\ud800-\udfff]$/.test(point));
  return isWhole && codePoints.length >= 1 && codePoints.length <= 2048 && /\S/.test(value);
}

/** Returns whether the contract accepts an input. Each line is a row of the contract's table. */
function contractAccepts(input: Input): boolean {
  const { model, prompt, voice, audio_references: references, image_url: image, ...rest } = input;
  const count = Array.isArray(references) ? references.length : 0;
  return (
    Object.keys(input).every((name) => FIELDS.includes(name)) &&
    (model === undefined || model === "audio-1.0") &&
    isPrompt(prompt) &&
    (voice === undefined || isOneOf(voice, VOICES)) &&
    (references === undefined ||
      (Array.isArray(references) && count <= 3 && references.every((url) => isOneOf(url, PUBLIC)))) &&
    (image === undefined || isOneOf(image, PUBLIC)) &&
    (rest["output_format"] === undefined ||
      isOneOf(rest["output_format"], ["mp3", "wav", "pcm", "ogg_opus"])) &&
    (rest["sample_rate"] === undefined ||
      isOneOf(rest["sample_rate"], [8000, 16000, 24000, 32000, 44100, 48000])) &&
    (rest["speed"] === undefined || isWithin(rest["speed"], 0.5, 2)) &&
    (rest["volume"] === undefined || isWithin(rest["volume"], 0.5, 2)) &&
    (rest["pitch"] === undefined || (isWithin(rest["pitch"], -12, 12) && Number.isInteger(rest["pitch"]))) &&
    (rest["multilingual"] === undefined || typeof rest["multilingual"] === "boolean") &&
    !(voice !== undefined && count > 2) &&
    !(image !== undefined && (voice !== undefined || count > 0))
  );
}

const nonsense = fc.constantFrom<unknown>(
  null,
  [],
  {},
  "",
  "1",
  0,
  -1,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  true,
  "mp3 ",
  1e9,
);
const around = (...edges: number[]): fc.Arbitrary<number> =>
  fc.constantFrom(...edges.flatMap((edge) => [edge, edge - 1, edge + 1, edge - 1e-9, edge + 1e-9, -edge]));
const url = fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...PUBLIC) }, fc.constantFrom(...NOT_PUBLIC));
const character = fc.constantFrom("a", "🎧", "語", "\n", "é", " ");
const text = fc
  .tuple(fc.constantFrom(1, 2, 3, 2046, 2047, 2048, 2049), character)
  .map(([length, filling]) => filling.repeat(length));
const prompt = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: "grapheme", maxLength: 40 }) },
  { weight: 3, arbitrary: text },
  fc.constantFrom<unknown>("", " \t\n", "\u3000\u00a0", "half \ud800", "\udfff", undefined, 7, null),
);

/** Returns mostly valid values, so that most inputs have at most one wrong field. */
const mostly = <T>(right: fc.Arbitrary<T>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 40, arbitrary: right }, { weight: 1, arbitrary: nonsense });

const fields = fc.record({
  model: mostly(fc.constant("audio-1.0")),
  voice: mostly(fc.constantFrom(...VOICES)),
  audio_references: mostly(fc.array(url, { maxLength: 4 })),
  image_url: fc.oneof({ weight: 9, arbitrary: url }, nonsense),
  output_format: mostly(fc.constantFrom("mp3", "wav", "pcm", "ogg_opus")),
  sample_rate: mostly(fc.constantFrom(8000, 16000, 24000, 32000, 44100, 48000)),
  speed: mostly(around(0.5, 1, 2)),
  volume: mostly(around(0.5, 1, 2)),
  pitch: mostly(around(-12, 0, 12)),
  multilingual: mostly(fc.boolean()),
});

/** An input with a prompt and up to four other fields. One input in ten also has an unknown field. */
const input: fc.Arbitrary<Input> = fc
  .tuple(
    prompt,
    fields,
    fc.subarray(
      FIELDS.filter((name) => name !== "prompt"),
      { maxLength: 4 },
    ),
    fc.nat(9),
  )
  .map(([words, all, present, luck]) => ({
    ...Object.fromEntries(Object.entries(all).filter(([name]) => present.includes(name))),
    ...(words === undefined ? {} : { prompt: words }),
    ...(luck === 0 ? { tempo: 1 } : {}),
  }));

it("what the contract accepts is accepted here, and nothing else is", () => {
  let accepted = 0;
  fc.assert(
    fc.property(input, (candidate) => {
      const verdict = contractAccepts(candidate);
      accepted += verdict ? 1 : 0;
      expect(audioInputSchema.safeParse(candidate).success).toBe(verdict);
    }),
    { numRuns: 4000 },
  );
  // The generator must produce both outcomes, otherwise the comparison proves nothing.
  expect(accepted).toBeGreaterThan(200);
  expect(accepted).toBeLessThan(3800);
});
