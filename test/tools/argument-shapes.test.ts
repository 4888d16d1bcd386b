/** Tests the shapes in which assistants write arguments, through the schemas of the tools. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { coerceArguments } from "../../src/contract/coerce-arguments.ts";
import { generateAudioTool } from "../../src/tools/generate-audio.ts";
import { narrateInput, narrateRules, toNarrateChanges } from "../../src/tools/narrate-input.ts";

const narration = (args: Record<string, unknown>): unknown =>
  narrateRules.parse(coerceArguments({ text: "Hello.", ...args }, narrateInput));
const byId = (args: Record<string, unknown>): unknown =>
  narrateRules.parse(coerceArguments({ narration_id: "nar_1", ...args }, narrateInput));
const request = (args: Record<string, unknown>): unknown =>
  generateAudioTool.input.parse(coerceArguments({ prompt: "Hello.", ...args }, generateAudioTool.input));

describe("pronounce", () => {
  it.each([
    ["Nguyen=Win"],
    [["Nguyen=Win"]],
    ['["Nguyen=Win"]'],
    [{ Nguyen: "Win" }],
    ['{"Nguyen":"Win"}'],
    [[{ Nguyen: "Win" }]],
    [{ word: "Nguyen", say: "Win" }],
    [[{ word: "Nguyen", pronunciation: "Win" }]],
    [{ from: "Nguyen", to: "Win" }],
    ["Nguyen -> Win"],
    ["Nguyen: Win"],
  ])("%j is one rule", (pronounce) => {
    expect(request({ pronounce })).toMatchObject({ pronounce: ["Nguyen=Win"] });
  });

  it.each([["A=B, C=D"], ["A=B; C=D"], ["A=B\nC=D"], [["A=B,C=D"]], [{ A: "B", C: "D" }]])(
    "%j is two rules",
    (pronounce) => {
      expect(request({ pronounce })).toMatchObject({ pronounce: ["A=B", "C=D"] });
    },
  );

  it("keeps a comma inside a rule", () => {
    expect(request({ pronounce: "10,000=ten thousand" })).toMatchObject({
      pronounce: ["10,000=ten thousand"],
    });
  });
});

it.each([
  ["ANNA: sophie_en_zh speed 0.9"],
  ["ANNA=sophie_en_zh speed 0.9"],
  [["ANNA: sophie_en_zh speed 0.9"]],
  [{ ANNA: "sophie_en_zh speed 0.9" }],
  [{ ANNA: { voice: "sophie_en_zh", speed: 0.9 } }],
  ['{"ANNA": {"voice": "Sophie", "speed": "0.9"}}'],
  [[{ name: "ANNA", voice: "Sophie", speed: 0.9 }]],
  [{ speaker: "ANNA", voice_id: "sophie_en_zh", speed: 0.9 }],
  [[{ ANNA: { voice: "sophie_en_zh", speed: 0.9 } }]],
])("voices %j is one speaker", (voices) => {
  expect(() => narration({ voices })).not.toThrow();
  expect(JSON.stringify(narration({ voices }))).toMatch(/ANNA[:=] ?(?:sophie_en_zh|Sophie) speed 0\.9/);
});

it.each([["ANNA: sophie, BEN: felix"], ["ANNA: sophie\nBEN: felix"], [{ ANNA: "sophie", BEN: "felix" }]])(
  "voices %j is two speakers",
  (voices) => {
    expect(narration({ voices })).toMatchObject({ voices: ["ANNA: sophie", "BEN: felix"] });
  },
);

describe("edits and retakes", () => {
  const EDIT = { quote: "old words", replacement: "new words" };
  it.each([
    [EDIT],
    [[EDIT]],
    [JSON.stringify(EDIT)],
    [JSON.stringify([EDIT])],
    [{ old: "old words", new: "new words" }],
    [[{ find: "old words", replace: "new words" }]],
    [{ "old words": "new words" }],
  ])("%j is one edit", (edits) => {
    expect(byId({ edits })).toMatchObject({ edits: [EDIT] });
  });

  it.each([
    ["old words", { quote: "old words" }],
    [["old words"], { quote: "old words" }],
    [
      { quote: "old words", take: "3" },
      { quote: "old words", take: 3 },
    ],
    [JSON.stringify([{ quote: "old words", speed: "0.9" }]), { quote: "old words", speed: 0.9 }],
    [
      { chapter: 2, speed: "0.9x" },
      { chapter: "2", speed: 0.9 },
    ],
  ])("%j is one retake", (retakes, retake) => {
    expect(byId({ retakes })).toMatchObject({ retakes: [retake] });
  });

  it.each([[[]], ["[]"], [""], [null], [{}], ["{}"]])("%j is none", (nothing) => {
    expect(narration({ edits: nothing, retakes: nothing, voices: nothing, pronounce: nothing })).toEqual({
      text: "Hello.",
    });
    expect(byId({ edits: nothing, voices: nothing })).toEqual({ narration_id: "nar_1" });
  });
});

describe("numbers", () => {
  it.each([
    [{ speed: "1.2x" }, { speed: 1.2 }],
    [{ wait_seconds: "30 s" }, { wait_seconds: 30 }],
    [{ sample_rate: "44.1 kHz" }, { sample_rate: 44_100 }],
    [{ sample_rate: 44.1 }, { sample_rate: 44_100 }],
    [
      { take: '"2"', output_format: '"wav"', multilingual: '"true"' },
      { take: 2, output_format: "wav", multilingual: true },
    ],
    [
      { take: [2], voice: ["Sophie"], multilingual: 1 },
      { take: 2, voice: "sophie_en_zh", multilingual: true },
    ],
    [{ sample_rate: "48000 Hz" }, { sample_rate: 48_000 }],
    [{ audio_references: "https://example.com/a.mp3" }, { audio_references: ["https://example.com/a.mp3"] }],
  ])("%j is read as %j", (given, read) => {
    expect(request(given)).toMatchObject(read);
  });

  it.each(["1,500", "1500 credits", " 1,500 credits ", 1500])("max_credits %j is 1500", (max_credits) => {
    expect(narration({ max_credits })).toMatchObject({ max_credits: 1500 });
  });

  it.each([0, "0", null, ""])("max_credits %j is no limit", (max_credits) => {
    const args = narrateRules.parse(coerceArguments({ text: "Hello.", max_credits }, narrateInput));
    expect(toNarrateChanges(args).maxCredits).toBeNull();
  });

  it("says the same bounds of max_credits in the schema and in the error", () => {
    const said = JSON.stringify(z.toJSONSchema(narrateInput, { io: "input" }));
    expect(said).toContain("1 to 10,000,000");
    const refused = narrateRules.safeParse(
      coerceArguments({ text: "Hello.", max_credits: -1 }, narrateInput),
    );
    expect(refused.error?.issues[0]?.message).toBe("must be a whole number from 1 to 10,000,000");
  });
});
