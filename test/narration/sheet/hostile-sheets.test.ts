/** A sheet of any content becomes a plan within its bounds, or is refused with a reason. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { AudioError } from "../../../src/errors.ts";
import { planByKind } from "../../../src/narration/planning/plan-by-kind.ts";
import { type StoredPlan, storedPlanSchema } from "../../../src/narration/planning/stored-plan.ts";

const OPTIONS = { settings: {}, voices: {}, pauseSeconds: 0.6, fileLayout: "one" } as const;

async function planOrRefusal(text: string): Promise<StoredPlan | AudioError> {
  try {
    return await planByKind({ text, format: "sheet" }, OPTIONS);
  } catch (error) {
    if (error instanceof AudioError) return error;
    throw error;
  }
}

/** Pieces from which sheets are built, in any order. */
const piece = fc.constantFrom(
  ...["text", "file", "voice", "speed", ",", ";", "\t", "\n", "\r\n", "\r", '"', '""', " ", "a", "1", "0,9"],
  ...["sophie_en_zh", "__proto__", "constructor", "é", "\u2028", "\ufeff", "[", "=1+1", "名", "…"],
);

it("a sheet of any pieces is a plan whose rows are parts, or a refusal that says that nothing was sent", async () => {
  let planned = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(
        "",
        "text\n",
        "text,file\n",
        "file;text;voice\r\n",
        "sep=;\nid;line\n",
        "speed\ttext\n",
      ),
      fc.array(piece, { maxLength: 60 }),
      async (header, pieces) => {
        const outcome = await planOrRefusal(header + pieces.join(""));
        if (outcome instanceof AudioError) {
          expect(outcome.message.length).toBeLessThan(4000);
          return;
        }
        planned += 1;
        storedPlanSchema.parse(outcome);
        expect(outcome.parts.map(({ chapterIndex }) => chapterIndex)).toEqual(
          outcome.chapters.map((_, index) => index),
        );
      },
    ),
    { numRuns: 2000 },
  );
  expect(planned).toBeGreaterThan(100);
});
