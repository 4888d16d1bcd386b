/** Automatic file names: words of the text and a short id, the same for the same task, valid on every system. */
import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OUTPUT_FORMATS } from "../../src/contract/audio-format.ts";
import { assertFileName, buildAutomaticName } from "../../src/files/file-name.ts";

const hash = (id: string): string => createHash("sha256").update(id).digest("hex").slice(0, 8);

describe("an automatic name", () => {
  it.each([
    ["Hello there, you!", "Hello-there-you"],
    ["  Crème brûlée\n", "Creme-brulee"],
    ["The harbour at dawn, before the first ferry leaves", "The-harbour-at-dawn-before-the-first"],
    ["The harbour at dawn, before the first day", "The-harbour-at-dawn-before-the-first-day"],
    ["Donaudampfschifffahrtsgesellschaftskapitän an Bord", "Donaudampfschifffahrtsgesellschaftskapit"],
    ["你好", "你好"],
    ["你好 hello", "你好-hello"],
    ["第一章：ガラスの靴", "第一章-ガラスの靴"],
    ["Приве́т", "audio"],
    [null, "audio"],
    ["../../etc/passwd", "etc-passwd"],
    ["CON", "CON"],
    [`${"世".repeat(300)} the end`, "世".repeat(40)],
  ])("from the prompt %j begins with %j, which ends with a word", (prompt, expected) => {
    expect(buildAutomaticName("mp3", prompt, "task-1")).toBe(`${expected}-${hash("task-1")}.mp3`);
  });

  it("differs for tasks whose ids have the same beginning or end", () => {
    const ids = ["task-1", "task-2", "x-task-1", `${"a".repeat(255)}1`, `${"a".repeat(255)}2`];
    expect(new Set(ids.map((id) => buildAutomaticName("mp3", "Hello", id))).size).toBe(ids.length);
  });

  it("is plain, short and valid for any prompt and id", () => {
    const ids = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,255}$/);
    const prompts = fc.option(fc.string({ unit: "binary", maxLength: 400 }));
    fc.assert(
      fc.property(prompts, ids, fc.constantFrom(...OUTPUT_FORMATS), (prompt, taskId, format) => {
        const name = buildAutomaticName(format, prompt, taskId);
        expect(name).toMatch(/^[A-Za-z0-9\p{sc=Han}\p{sc=Hira}\p{sc=Kana}ー-]+\.(mp3|wav|pcm|ogg)$/u);
        expect([...name].length).toBeLessThanOrEqual(53);
        assertFileName(name);
      }),
    );
  });
});
