/** Idempotency keys are equal exactly if input, take and attempt are equal. They always have the contract's form. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AudioInput, audioInputSchema } from "../../src/contract/audio-input.ts";
import { deriveIdempotencyKey } from "../../src/ledger/identity.ts";
import { canonicalizeInput } from "../../src/requests/canonical-input.ts";

const url = fc.constantFrom("https://example.com/a", "https://example.com/b", "https://example.com/a/");
const input: fc.Arbitrary<AudioInput> = fc
  .record(
    {
      prompt: fc.oneof(
        fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }),
        fc.constantFrom("a", "a ", " a", "A", "a\n", "é", "e\u0301", "ａ"),
      ),
      model: fc.constant("audio-1.0" as const),
      voice: fc.constantFrom("kian_en_zh" as const, "felix_zh" as const),
      audio_references: fc.array(url, { maxLength: 2 }),
      output_format: fc.constantFrom("mp3" as const, "wav" as const),
      sample_rate: fc.constantFrom(24000 as const, 8000 as const),
      speed: fc.constantFrom(1, 1.5),
      volume: fc.constantFrom(1, 2),
      pitch: fc.constantFrom(0, -3),
      multilingual: fc.boolean(),
    },
    { requiredKeys: ["prompt"] },
  )
  .filter((candidate) => audioInputSchema.safeParse(candidate).success);
const take = fc.integer({ min: 1, max: 999 });
const attempt = fc.integer({ min: 1, max: 1000 });

/** Returns the requested values of every field, with the contract's defaults, which are copied by hand. */
function meaning(audioInput: AudioInput): string {
  const { prompt, voice = null, audio_references: references = [], image_url: image = null } = audioInput;
  const { output_format: format = "mp3", sample_rate: rate = 24000, speed = 1, volume = 1 } = audioInput;
  const { pitch = 0, multilingual = false } = audioInput;
  return JSON.stringify([
    prompt.trim(),
    voice,
    references,
    image,
    format,
    rate,
    speed,
    volume,
    pitch,
    multilingual,
  ]);
}

const shuffled = (audioInput: AudioInput): AudioInput =>
  audioInputSchema.parse(Object.fromEntries(Object.entries(audioInput).reverse()));

describe("the idempotency key", () => {
  it("is equal for two requests exactly when they mean the same, take and attempt included", () => {
    fc.assert(
      fc.property(input, input, take, take, attempt, attempt, (a, b, takeA, takeB, attemptA, attemptB) => {
        const same = meaning(a) === meaning(b) && takeA === takeB && attemptA === attemptB;
        const keyA = deriveIdempotencyKey(canonicalizeInput(a), takeA, attemptA);
        expect(deriveIdempotencyKey(canonicalizeInput(b), takeB, attemptB) === keyA).toBe(same);
        expect(deriveIdempotencyKey(canonicalizeInput(shuffled(a)), takeA, attemptA)).toBe(keyA);
      }),
      { numRuns: 2000 },
    );
  });

  it("differs for each take and attempt, even if digits could run together", () => {
    const keys = new Set<string>();
    const body = canonicalizeInput({ prompt: "digits" });
    for (let t = 1; t <= 30; t += 1)
      for (let a = 1; a <= 30; a += 1) keys.add(deriveIdempotencyKey(body, t, a));
    expect(keys.size).toBe(900);
  });

  it("never changes: every version must derive these keys", () => {
    // White space around the text does not change the request.
    const body = canonicalizeInput({ prompt: " Good morning.\n", voice: "sophie_en_zh", speed: 1.25 });
    expect(body).toBe(
      '{"audio_references":[],"model":"audio-1.0","multilingual":false,"output_format":"mp3","pitch":0,"prompt":"Good morning.","sample_rate":24000,"speed":1.25,"voice":"sophie_en_zh","volume":1}',
    );
    expect(deriveIdempotencyKey(body, 1, 1)).toBe(
      "agm1-ff7acbae7c10f8eedafdedef560de678423f254eae19631da5c4d1cf26b3e4d9",
    );
    expect(deriveIdempotencyKey(body, 2, 3)).toBe(
      "agm1-9b2387cc258c4fbb3b8778f51941617368179d02ee0bf7c0ee89d5b29d2ae7cf",
    );
  });

  it("comes with a body that is equal to the request when parsed", () => {
    fc.assert(
      fc.property(input, (audioInput) => {
        const again = audioInputSchema.parse(JSON.parse(canonicalizeInput(audioInput)));
        expect(meaning(again)).toBe(meaning(audioInput));
        expect(canonicalizeInput(again)).toBe(canonicalizeInput(audioInput));
      }),
    );
  });
});
