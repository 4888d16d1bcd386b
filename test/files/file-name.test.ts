/** Which names are refused, and what an accepted name becomes. */
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { OUTPUT_FORMATS } from "../../src/contract/audio-format.ts";
import { AudioError } from "../../src/errors.ts";
import {
  appendToStem,
  assertFileName,
  buildNumberedName,
  buildRequestedName,
  buildWrongFormatName,
  isNumbered,
} from "../../src/files/file-name.ts";
import { newFolder, removeFolders } from "./folders.ts";

afterEach(removeFolders);

function refusal(name: string): AudioError {
  try {
    assertFileName(name);
  } catch (error) {
    if (error instanceof AudioError) return error;
    throw error;
  }
  throw new Error(`${JSON.stringify(name)} was accepted`);
}

it.each([
  ["", "empty"],
  ["../x", "plain name"],
  ["..", "dot"],
  [".", "dot"],
  ["C:\\x", "plain name"],
  ["a/b", "plain name"],
  [".bashrc", "start with a dot"],
  ["x:evil", "colon"],
  ["x:$DATA", "colon"],
  ["CON.mp3", "device"],
  ["nul.tar.gz", "device"],
  ["LPT9", "device"],
  ["COM\u00b9.mp3", "device"],
  ["aux .mp3", "device"],
  ["name.", "end with a dot"],
  ["name. .", "end with a dot"],
  ["a".repeat(121), "at most 120 characters"],
  ["你".repeat(83), "bytes of UTF-8"],
  ["👋".repeat(120), "bytes of UTF-8"],
  ["a\u0000b", "control"],
  ["a\nb", "control"],
  ["a\u0085b", "control"],
  ["mp3.\u202Eexe", "invisible"],
  ["a\u200bb", "invisible"],
  ["a\u2028b", "invisible"],
  ["a\u3164b", "invisible"],
  ["a\u{E0041}", "invisible"],
  ["a\ud800", "surrogate"],
  ["what?", "any of"],
  ['"a"', "any of"],
  ["a|b", "any of"],
  ["\u3000", "white space"],
  ["\u3000.mp3", "white space"],
])("a name that is refused %j, naming the rule", (name, rule) => {
  const failure = refusal(name);
  expect(failure.code).toBe("invalid_file_name");
  expect(failure.message).toContain(rule);
  expect(failure.message).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}]/u);
  expect(failure.message.length).toBeLessThan(400);
});

describe("a name that is accepted", () => {
  it.each([
    "chapter 1",
    "Kapitel 1 – Größe",
    "第一章",
    "глава",
    "❤️ story",
    "👋",
    "v1.2",
    "console",
    "comet1",
    "com10",
    "null",
    "a'b (c) [d] {e} & f, g; h!",
    "-rf",
    "a".repeat(120),
    `${"a".repeat(120)}.mp3`,
    "你".repeat(82),
  ])("%j", (name) => {
    expect(() => assertFileName(name)).not.toThrow();
  });

  it.each([
    ["story", "mp3", "story.mp3"],
    ["story.mp3", "mp3", "story.mp3"],
    ["story.MP3", "mp3", "story.mp3"],
    ["story.mp3", "wav", "story.mp3.wav"],
    ["story.ogg", "ogg_opus", "story.ogg"],
    ["v1.2", "pcm", "v1.2.pcm"],
    ["story.mp3.mp3", "mp3", "story.mp3.mp3"],
    ["a".repeat(120), "mp3", `${"a".repeat(120)}.mp3`],
    [`${"a".repeat(120)}.mp3`, "mp3", `${"a".repeat(120)}.mp3`],
  ] as const)("%j as %s is saved as %j", (name, format, expected) => {
    expect(buildRequestedName(name, format)).toBe(expected);
  });

  it("counts an extension of another format toward its length", () => {
    const name = `${"a".repeat(118)}.wav`;
    expect(() => buildRequestedName(name, "wav")).not.toThrow();
    expect(() => buildRequestedName(name, "mp3")).toThrow(AudioError);
  });
});

it("cuts a long name between characters, to make room for a suffix", () => {
  const name = `${"你".repeat(82)}.mp3`;
  expect(buildNumberedName(name, 2)).toBe(`${"你".repeat(82)}-2.mp3`);
  expect(appendToStem(name, ".chapters", ".json")).toBe(`${"你".repeat(80)}.chapters.json`);
  expect(appendToStem(name, "", ".vtt")).toBe(`${"你".repeat(82)}.vtt`);
});

it("distinguishes a numbered name from one that only ends in a number", () => {
  const base = "story.mp3";
  const names = ["story-2.mp3", "story-999.mp3", "story-1.mp3", "story-02.mp3", "story.mp3", "other-2.mp3"];
  expect(names.filter((name) => isNumbered(name, base))).toEqual(["story-2.mp3", "story-999.mp3"]);
  expect(isNumbered("story-2.mp3", "story-2.mp3")).toBe(false);
});

it("numbers a name before its extension, and keeps bytes of no format as .bin", () => {
  expect(["a.b.mp3", "a.mp3"].map((name) => buildNumberedName(name, 2))).toEqual(["a.b-2.mp3", "a-2.mp3"]);
  expect(buildNumberedName("a.mp3", 1)).toBe("a.mp3");
  expect(buildWrongFormatName("a.b.mp3")).toBe("a.b.bin");
});

it("accepts only names that a real folder stores unchanged, with every possible suffix", () => {
  const root = newFolder();
  const hostile = fc.constantFrom(
    "/",
    "\\",
    "..",
    ".",
    ":",
    " ",
    "CON",
    "nul",
    "\u0000",
    "\u202e",
    "é",
    "👋",
    ".mp3",
  );
  const piece = fc.oneof(
    fc.string({ unit: "binary", maxLength: 60 }),
    hostile,
    fc.string({ maxLength: 130 }),
  );
  const names = fc.array(piece, { minLength: 1, maxLength: 3 }).map((pieces) => pieces.join(""));
  let accepted = 0;
  fc.assert(
    fc.property(names, fc.constantFrom(...OUTPUT_FORMATS), (name, format) => {
      let saved: string;
      try {
        saved = buildRequestedName(name, format);
      } catch (error) {
        expect(error).toMatchObject({ code: "invalid_file_name" });
        return;
      }
      accepted += 1;
      for (const used of [saved, buildNumberedName(saved, 999), buildWrongFormatName(saved)]) {
        const path = join(root, used);
        expect([dirname(path), basename(path)]).toEqual([root, used]);
        writeFileSync(path, "", { flag: "wx" });
        expect(readdirSync(root)).toEqual([used]);
        rmSync(path);
      }
    }),
    { numRuns: 600 },
  );
  expect(accepted).toBeGreaterThan(50);
});
