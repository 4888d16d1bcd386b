/** Pauses that a text or a call asks for. */
import { describe, expect, it } from "vitest";
import { buildStoredPlan } from "../../../src/narration/planning/build-stored-plan.ts";

const TEXT = "One came first.\n\nTwo came later.\n\nThree came last.";
const planned = (text: string, pausesAfterParagraphs = false, pauseSeconds = 0.6, voices = {}) =>
  buildStoredPlan(
    { text, format: "markdown" },
    { settings: {}, voices, pauseSeconds, pausesAfterParagraphs, fileLayout: "one" },
  );
const shape = (plan: ReturnType<typeof planned>) =>
  plan.parts.map(({ text, pauseAfterSeconds }) => [text, pauseAfterSeconds]);

const sentencesOf = ({ remarks }: ReturnType<typeof planned>) => remarks.map(({ sentence }) => sentence);

describe("pause_seconds from 1", () => {
  it("makes each paragraph a part, with that pause, and says what it costs", () => {
    const plan = planned(TEXT, true, 1.5);
    expect(shape(plan)).toEqual([
      ["One came first.", 1.5],
      ["Two came later.", 1.5],
      ["Three came last.", 0],
    ]);
    expect(sentencesOf(plan)).toContain(
      "3 parts instead of 1: about 30 credits instead of 10, because a pause is silence between parts.",
    );
  });

  it("keeps a heading with its first paragraph, and reports nothing if nothing is cut", () => {
    expect(shape(planned("# Title\n\nOne.\n\nTwo.", true, 2))).toEqual([
      ["Title\n\nOne.", 2],
      ["Two.", 0],
    ]);
    expect(sentencesOf(planned("One alone.", true, 2)).join()).not.toContain("instead of");
  });

  it("reports that it has no effect in a single paragraph", () => {
    expect(sentencesOf(planned("One came first.\nTwo came later.", true, 4)).join()).toContain(
      "No pause is added, because the text is one paragraph.",
    );
  });

  it("does not happen with a shorter pause, or without one", () => {
    expect(planned(TEXT).parts).toHaveLength(1);
  });
});

describe("a line [pause 2s]", () => {
  it.each([
    ["[pause 2s]", 2],
    ["[Pause 1.5 seconds]", 1.5],
    ["[pause: 750ms]", 0.75],
    ["[pause 3]", 3],
    ["[pause 2s]\n\n[pause 1s]", 3],
  ])("%j is silence between two parts", (line, seconds) => {
    const after = [
      ["One came first.", seconds],
      ["Two came later.", 0],
    ];
    expect(shape(planned(`One came first.\n\n${line}\n\nTwo came later.`))).toEqual(after);
    expect(shape(planned(`One came first.\n${line}\nTwo came later.`))).toEqual(after);
  });

  it("keeps the speaker, and a chapter's own pause if it is before a heading", () => {
    const voices = { ANNA: "sophie_en_zh" } as const;
    const plan = planned("ANNA: Wait.\n\nBEN: Why?\n\nANNA: Now.\n\n[pause 4s]\n\nGo.", false, 0.6, voices);
    expect(plan.parts.at(-2)).toMatchObject({ text: "Now.", voice: "sophie_en_zh", pauseAfterSeconds: 4 });
    expect(shape(planned("One.\n\n[pause 5s]\n\n# Two\n\nMore."))[0]).toEqual(["One.", 5]);
  });

  it.each(["He wrote [pause 2s] there.", "[pause]", "[pauses 2s]", "[pause for thought]"])(
    "is not recognised in %j, which stays text",
    (line) => {
      expect(planned(`One.\n\n${line}\n\nTwo.`).parts).toHaveLength(1);
    },
  );

  it.each([
    ["behind a line", "One came first. [pause 2s]\n\nTwo came later."],
    ["before a line", "One came first.\n\n[pause 2s] Two came later."],
    ["between sentences", "One came first. [pause 2s] Two came later."],
    ["in other words", "One came first.\n\n(break 2s)\n\nTwo came later."],
    ["with the number first", "One came first.\n\n[2 second pause]\n\nTwo came later."],
    ["as a tag", 'One came first. <break time="2s"/> Two came later.'],
  ])("counts %s", (_, text) => {
    const plan = planned(text);
    expect(shape(plan)).toEqual([
      ["One came first.", 2],
      ["Two came later.", 0],
    ]);
    expect(sentencesOf(plan)).toContain("Written pauses such as [pause 2s] are kept as silence.");
  });

  it("inside a turn leaves the rest of the turn to its speaker", () => {
    const voices = { ANNA: "sophie_en_zh" } as const;
    const plan = planned("ANNA: Wait. [pause 2s] Now.\n\nAnd they left.", false, 0.6, voices);
    expect(plan.parts.map(({ text, voice }) => [text, voice])).toEqual([
      ["Wait.", "sophie_en_zh"],
      ["Now.", "sophie_en_zh"],
      ["And they left.", null],
    ]);
  });

  it("that is too long is refused", () => {
    expect(() => planned("One.\n\n[pause 999s]\n\nTwo.")).toThrow(/\[pause 999s\] is longer than 60 s/);
    expect(() => planned("One.\n\n[pause 2 min]\n\nTwo.")).toThrow(/\[pause 2 min\] is longer than 60 s/);
    expect(() => planned(`One.\n\n${"[pause 60s]\n\n".repeat(61)}Two.`)).toThrow(/come to 61 minutes/);
  });
});
