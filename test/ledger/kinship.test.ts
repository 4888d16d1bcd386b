/** Texts that a model has typed again are recognised: quotation marks, blanks, case and Unicode form are folded. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compareTexts, deriveLooseFingerprint } from "../../src/ledger/kinship.ts";
import { canonicalizeInput } from "../../src/requests/canonical-input.ts";

const BASE_URL = "https://service.example";

const looseOf = (prompt: string, settings: { speed?: number; voice?: "sophie_en_zh" } = {}, take = 1) =>
  deriveLooseFingerprint(BASE_URL, canonicalizeInput({ prompt, ...settings }), prompt, take);

const SAME: ReadonlyArray<readonly [string, string, "typing" | "case"]> = [
  ['He said "no".', "He said “no”.", "typing"],
  ["It's late.", "It’s late.", "typing"],
  ["It's late.", "Its late.", "typing"],
  ["two words", "two  words", "typing"],
  ["two words", "two\nwords", "typing"],
  ["two words", "two\u00a0words", "typing"],
  [" at the ends ", "at the ends", "typing"],
  ["café", "cafe\u0301", "typing"],
  ["ﬁne", "fine", "typing"],
  ["「はい」", "はい", "typing"],
  ["Hello there", "hello there", "case"],
  ["HELLO “there”", "hello there", "case"],
];

const OTHER: ReadonlyArray<readonly [string, string]> = [
  ["Hello there.", "Hello there!"],
  ["Hello there.", "Hello, there."],
  ["one two", "onetwo"],
  ["café", "cafe"],
  ["10 apples", "11 apples"],
];

describe("a text that was typed again", () => {
  it.each(SAME)("%j and %j differ in %3$s alone", (one, other, difference) => {
    expect(looseOf(one)).toBe(looseOf(other));
    expect(compareTexts(one, other)).toBe(difference);
    expect(compareTexts(other, one)).toBe(difference);
  });

  it.each(OTHER)("%j and %j are different texts", (one, other) => {
    expect(looseOf(one)).not.toBe(looseOf(other));
  });

  it("with other settings or another take is another request", () => {
    expect(looseOf("Same")).not.toBe(looseOf("Same", { speed: 1.5 }));
    expect(looseOf("Same")).not.toBe(looseOf("Same", { voice: "sophie_en_zh" }));
    expect(looseOf("Same")).not.toBe(looseOf("Same", {}, 2));
  });

  it("at another service is another request", () => {
    const body = canonicalizeInput({ prompt: "Same" });
    expect(deriveLooseFingerprint("https://other.example", body, "Same", 1)).not.toBe(looseOf("Same"));
  });

  it("is compared in linear time, however many blanks and marks it has", () => {
    const long = `${" \t".repeat(20_000)}${"“'”".repeat(20_000)}x`;
    const beganAtMs = performance.now();
    expect(compareTexts(long, "x")).toBe("typing");
    expect(performance.now() - beganAtMs).toBeLessThan(1000);
  });

  it("is the same whichever marks and blanks were put in", () => {
    const marks = fc.constantFrom('"', "“", "”", "'", "’", "«", "»", "「", "」");
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.stringMatching(/^[a-z]{1,8}$/), marks)), (words) => {
        const plain = words.map(([word]) => word).join(" ");
        const marked = words.map(([word, mark]) => `${mark}${word}${mark}`).join("  ");
        expect(looseOf(marked)).toBe(looseOf(plain));
      }),
    );
  });
});
