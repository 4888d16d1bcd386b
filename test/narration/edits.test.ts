/** An edit names a passage of a narration by a quote, and replaces it. The parts without an edit are reused. */
import { describe, expect, it } from "vitest";
import { errorOf, resultTextOf } from "../support/tool-result.ts";
import { buildText, openNarratorEach, paragraph } from "./narrator.ts";

const narrator = openNarratorEach();

const spoken = (): string[] =>
  [...narrator.service.tasks.values()].map(({ body }) => String(Object(JSON.parse(body)).prompt));

describe("edits", () => {
  it("to one sentence in 30,000 characters pay for one part, in one short call", async () => {
    const names = Array.from({ length: 24 }, (_, index) => `Number ${index}`);
    const text = buildText(...names);
    expect(text.length).toBeGreaterThan(30_000);
    const before = await narrator.narrate({ text, max_credits: 5000, wait_seconds: 60 });
    expect(before.status).toBe("finished");
    const paid = narrator.service.tasks.size;
    const { narration_id } = before;
    const edits = [{ quote: "So ends Number 7.", replacement: "Here ends Number 7, at last." }];
    const call = { narration_id, edits, max_credits: 400 };
    expect(JSON.stringify(call).length / 4).toBeLessThan(100);
    const after = await narrator.narrate({ ...call, wait_seconds: 60 });
    expect(after).toMatchObject({ status: "finished", credits: { charged: 10 } });
    expect(after.narration_id).not.toBe(narration_id);
    expect(narrator.service.tasks.size).toBe(paid + 1);
    expect(spoken().at(-1)).toMatch(/Here ends Number 7, at last\.$/);
    // The same call pays nothing more, and the first narration stays unchanged.
    const again = await narrator.narrate({ ...call, wait_seconds: 60 });
    expect(again.files).toEqual(after.files);
    expect((await narrator.narrate({ narration_id })).files).toEqual(before.files);
    expect(narrator.service.tasks.size).toBe(paid + 1);
  });

  it("without a limit are a plan, which keeps marks of another kind, and divides what gets too long", async () => {
    const { narration_id } = await narrator.narrate({ text: buildText("It’s one", "Two") });
    const plain = await narrator.narrate({
      narration_id,
      edits: [{ quote: "It's  one begins", replacement: "" }],
    });
    expect(plain).toMatchObject({ status: "planned", parts: { total: 2 } });
    const longer = await narrator.narrate({
      narration_id,
      edits: [{ quote: "Two begins here.", replacement: `${paragraph("A")}\n\n${paragraph("B")}` }],
    });
    expect(longer.parts.total).toBeGreaterThan(3);
    expect(narrator.service.exchanges).toEqual([]);
  });

  it("keep the pronunciations of the narration, rename an edited heading, and show the new words", async () => {
    const text = `# Intro\n\nNguyen ${paragraph("One")}\n\n# Second\n\nNguyen left the house in the evening, and closed the door.`;
    const madeNarration = await narrator.narrate({
      text,
      pronounce: ["Nguyen=Win"],
      max_credits: 900,
      wait_seconds: 60,
    });
    const call = { narration_id: madeNarration.narration_id, wait_seconds: 60 };
    const edits = [
      { quote: "Second", replacement: "The **end**" },
      { quote: "closed the door", replacement: "shut the door (softly)" },
    ];
    const plan = await narrator.narrate({ ...call, edits });
    expect(plan.message).toContain('ends "…left the house in the evening, and shut the door (softly)."');
    expect(plan.message).toContain('Brackets in a replacement are spoken: "(softly)".');
    expect(plan.chapters?.map(({ title }) => title)).toEqual(["Intro", "The end"]);
    await narrator.narrate({ ...call, edits, max_credits: 900 });
    expect(spoken().at(-1)).toBe("The end\n\nWin left the house in the evening, and shut the door (softly).");
  });

  it("that were planned before a retake have it, too", async () => {
    const limit = { max_credits: 900, wait_seconds: 60 };
    const { narration_id } = await narrator.narrate({ text: buildText("One", "Two"), ...limit });
    const edits = [{ quote: "So ends One.", replacement: "So closes One." }];
    await narrator.narrate({ narration_id, edits });
    await narrator.narrate({ narration_id, ...limit, retakes: [{ quote: "So ends Two", take: 2 }] });
    const plan = await narrator.narrate({ narration_id, edits });
    expect(plan.message).toContain("1 part in another take or at another speed");
    expect(plan.next_step).not.toContain("with the same retakes");
    await narrator.narrate({ narration_id: plan.narration_id, ...limit });
    expect(narrator.service.tasks.size).toBe(4);
  });

  it("keep the speed of the part that they change", async () => {
    const limit = { max_credits: 900, wait_seconds: 60 };
    const { narration_id } = await narrator.narrate({ text: buildText("One", "Two"), ...limit });
    await narrator.narrate({ narration_id, ...limit, retakes: [{ quote: "So ends Two", speed: 1.2 }] });
    const edits = [{ quote: "So ends Two.", replacement: "So closes Two." }];
    await narrator.narrate({ narration_id, edits, ...limit });
    const sent = [...narrator.service.tasks.values()].map(({ body }) => JSON.parse(body));
    expect(sent.map(({ speed }) => speed)).toEqual([1, 1, 1.2, 1.2]);
    expect(sent.at(-1).prompt).toContain("So closes Two.");
  });

  it("that drop the first words of a cue keep the rest at its time", async () => {
    const text = `1\n00:00:00,000 --> 00:00:01,000\nANNA: Start.\n\n2\n00:00:30,000 --> 00:00:33,000\nANNA: Hello there.\nBEN: Goodbye now.\n`;
    const voices = ["ANNA: sophie_en_zh", "BEN: kian_en_zh"];
    const madeNarration = await narrator.narrate({ text, voices, max_credits: 900, wait_seconds: 60 });
    const edits = [{ quote: "Hello there.", replacement: "" }];
    const call = { narration_id: madeNarration.narration_id, edits, max_credits: 900, wait_seconds: 60 };
    const { files } = await narrator.narrate(call);
    expect(files[0]?.duration_seconds).toBeGreaterThan(30);
  });

  it.each(["# A heading", "[pause 2s]", "Wait. [pause 2s] Go.", "```\ncode\n```", "ANNA: Hello."])(
    "that contain more than words are refused: %j",
    async (replacement) => {
      const text = `ANNA: ${paragraph("One")}\n\nANNA: ${paragraph("Two")}`;
      const { narration_id } = await narrator.narrate({ text, voices: ["ANNA: sophie_en_zh"] });
      const edits = [{ quote: "So ends One.", replacement }];
      const refused = await narrator.client.call("narrate", { narration_id, edits, max_credits: 900 });
      expect(resultTextOf(refused)).toContain("is more than words");
      expect(narrator.service.exchanges).toEqual([]);
    },
  );

  it.each([
    ["does not occur", [{ quote: "no such words", replacement: "" }], /does not occur/],
    ["occurs twice", [{ quote: "The river ran", replacement: "" }], /occurs \d+ times/],
    ["crosses parts", [{ quote: "So ends One. Two begins", replacement: "" }], /beyond the end of a part/],
    ["has no words", [{ quote: "...", replacement: "" }], /letter or a digit/],
    ["is not a quote any more", [{ quote: "x".repeat(2001), replacement: "" }], /longer than 2000/],
    ["brings another text", [{ quote: "So ends One.", replacement: "x ".repeat(25_001) }], /more than 50000/],
    [
      "was changed by an edit before it",
      [
        { quote: "So ends One.", replacement: "" },
        { quote: "So ends One.", replacement: "" },
      ],
      /does not occur/,
    ],
  ])("with a quote that %s are refused before anything is charged", async (_, edits, words) => {
    const { narration_id } = await narrator.narrate({ text: buildText("One", "Two") });
    const refused = await narrator.client.call("narrate", { narration_id, edits, max_credits: 900 });
    expect(errorOf(refused).code).toBe("invalid_request");
    expect(resultTextOf(refused)).toMatch(words);
    expect(narrator.service.exchanges).toEqual([]);
  });

  it("that leave nothing, or belong to no narration, are refused", async () => {
    const { narration_id } = await narrator.narrate({ text: "One sentence alone." });
    const nothing = { narration_id, edits: [{ quote: "One sentence alone.", replacement: " " }] };
    expect(resultTextOf(await narrator.client.call("narrate", nothing))).toMatch(/nothing to speak/);
    const none = { text: "One.", edits: [{ quote: "One", replacement: "Two" }] };
    expect(resultTextOf(await narrator.client.call("narrate", none))).toMatch(
      /edits.*needs the narration_id/,
    );
  });
});
