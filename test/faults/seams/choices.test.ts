/** Takes and speeds that were chosen stay with their parts, whatever else of the narration changes. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { FaultSetup } from "../fault-setup.ts";
import type { RawServer } from "../raw-server.ts";
import { chapters, closeSeamsAfterEach, narrate, openSeams, sentPrompts } from "./seam-setup.ts";

closeSeamsAfterEach();

const TEXT = chapters("Alpha words stay.", "Bravo words change.", "Charlie words stay.");
const LIMIT = { max_credits: 5000, wait_seconds: 30 };

/** Makes the narration of a text, with these retakes of it. Returns its id. */
async function make(server: RawServer, retakes: readonly object[]): Promise<string> {
  const { narration_id } = await narrate(server, { text: TEXT, ...LIMIT });
  for (const retake of retakes) await narrate(server, { narration_id, retakes: [retake], ...LIMIT });
  return narration_id;
}

async function edit(
  server: RawServer,
  narration_id: string,
  quote: string,
  replacement: string,
): Promise<string> {
  const plan = await narrate(server, { narration_id, edits: [{ quote, replacement }] });
  const done = await narrate(server, { narration_id: plan.narration_id, ...LIMIT });
  expect(done.status).toBe("finished");
  return done.narration_id;
}

const sentSince = ({ service }: FaultSetup, count: number): string[] =>
  sentPrompts(service)
    .slice(count)
    .map((prompt) => prompt.split("\n").at(-1) ?? "");

describe("an edit of another chapter", () => {
  it.each([
    ["a take", { quote: "Charlie words", take: 2 }],
    ["a speed", { quote: "Charlie words", speed: 1.2 }],
    ["a take and a speed", { quote: "Charlie words", take: 3, speed: 0.9 }],
  ])("keeps %s over three edits, a restart and twenty plans", async (_, retake) => {
    const setup = await openSeams();
    const first = await make(setup.server, [retake]);
    const made = setup.service.tasks.size;
    const second = await edit(setup.server, first, "words change", "words change once");
    await setup.server.end();
    const later = await setup.another();
    for (let index = 0; index < 20; index += 1)
      await narrate(later, { text: `Question ${index} about a price.` });
    const third = await edit(later, second, "change once", "change twice");
    await edit(later, third, "change twice", "change once");
    expect(sentSince(setup, made)).toEqual(["Bravo words change once.", "Bravo words change twice."]);
  });

  it("keeps the first take and speed, if these were chosen again last", async () => {
    const setup = await openSeams();
    const retakes = [
      { quote: "Charlie words", take: 2, speed: 1.2 },
      { quote: "Charlie words", take: 1, speed: 1 },
    ];
    const first = await make(setup.server, retakes);
    const made = setup.service.tasks.size;
    const second = await edit(setup.server, first, "words change", "words change once");
    await edit(setup.server, second, "change once", "change twice");
    expect(sentSince(setup, made)).toEqual(["Bravo words change once.", "Bravo words change twice."]);
  });

  it.each(["at once", "after its plan"])(
    "that is undone by another edit keeps a take that was chosen in between, if it is made %s",
    async (when) => {
      const setup = await openSeams();
      const first = await make(setup.server, [{ quote: "Alpha words", take: 3 }]);
      const second = await edit(setup.server, first, "words change", "words change once");
      await narrate(setup.server, {
        narration_id: second,
        retakes: [{ quote: "Charlie words", take: 2 }],
        ...LIMIT,
      });
      const made = setup.service.tasks.size;
      const edits = [{ quote: "change once", replacement: "change" }];
      const limit = when === "at once" ? LIMIT : {};
      const { narration_id } = await narrate(setup.server, { narration_id: second, edits, ...limit });
      expect(narration_id).toBe(first);
      const done = await narrate(setup.server, { narration_id, ...LIMIT });
      expect(done.status).toBe("finished");
      const again = await narrate(setup.server, {
        narration_id,
        retakes: [
          { quote: "Alpha words", take: 3 },
          { quote: "Charlie words", take: 2 },
        ],
        ...LIMIT,
      });
      expect(again.message).toContain("nothing for this call");
      expect(again.files.map(({ sha256 }) => sha256)).toEqual(done.files.map(({ sha256 }) => sha256));
      expect(sentSince(setup, made)).toEqual([]);
    },
  );

  it("that removes the chapter before it keeps the take at its new place", async () => {
    const setup = await openSeams();
    const first = await make(setup.server, [{ quote: "Charlie words", take: 2 }]);
    const made = setup.service.tasks.size;
    const plan = await narrate(setup.server, {
      narration_id: first,
      edits: [
        { quote: "H1", replacement: "" },
        { quote: "Bravo words change.", replacement: "" },
      ],
    });
    const { narration_id } = plan;
    expect((await narrate(setup.server, { narration_id, ...LIMIT })).status).toBe("finished");
    expect(sentSince(setup, made)).toEqual([]);
  });
});

describe("a take that was chosen", () => {
  it("is kept by a choice of chapters", async () => {
    const setup = await openSeams();
    const narration_id = await make(setup.server, [{ quote: "Charlie words", take: 2 }]);
    const made = setup.service.tasks.size;
    const chosen = await narrate(setup.server, { narration_id, chapters: "2-3", ...LIMIT });
    expect(chosen).toMatchObject({ status: "finished", parts: { total: 2 } });
    expect(sentSince(setup, made)).toEqual([]);
    const file = chosen.files[0]?.path;
    expect(file).toBeDefined();
  });

  it("of chosen chapters is kept by the whole text's next edit in these chapters' narration", async () => {
    const setup = await openSeams();
    const whole = await make(setup.server, []);
    const { narration_id } = await narrate(setup.server, { narration_id: whole, chapters: "2-3", ...LIMIT });
    await narrate(setup.server, { narration_id, retakes: [{ quote: "Charlie words", take: 2 }], ...LIMIT });
    const made = setup.service.tasks.size;
    await edit(setup.server, narration_id, "words change", "words change once");
    expect(sentSince(setup, made)).toEqual(["Bravo words change once."]);
  });

  it("is kept by a newer text with another chapter before it", async () => {
    const setup = await openSeams();
    await make(setup.server, [{ quote: "Charlie words", take: 2 }]);
    const made = setup.service.tasks.size;
    const newer = TEXT.replace("# H2", "# New\n\nA new chapter came in between.\n\n# H2");
    const plan = await narrate(setup.server, { text: newer });
    expect(plan.message).toContain("in another take");
    await narrate(setup.server, { narration_id: plan.narration_id, ...LIMIT });
    expect(sentSince(setup, made)).toEqual(["A new chapter came in between."]);
  });

  it("for a row is kept when rows above it are changed, added and moved", async () => {
    const folder = mkdtempSync(join(tmpdir(), "agm-seams-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const setup = await openSeams({ env: { AUDIO_INPUT_DIR: folder } });
    const sheet = async (rows: readonly string[], retakes: readonly object[] = []) => {
      writeFileSync(join(folder, "lines.csv"), `text,file\n${rows.join("\n")}\n`);
      return await narrate(setup.server, { file: "lines.csv", retakes, ...LIMIT });
    };
    const [bravo, charlie] = ["Bravo two,b", "Charlie three,c"];
    await sheet(["Alpha one,a", bravo, charlie], [{ quote: "row 4", take: 2 }]);
    const made = setup.service.tasks.size;
    await sheet(["Alpha new,a", "Delta four,d", bravo, charlie]);
    expect(sentSince(setup, made).sort()).toEqual(["Alpha new", "Delta four"]);
    // The first take of this row was never made, so that it would be paid for if the choice were lost.
    await sheet([charlie, "Alpha new,a", bravo]);
    expect(setup.service.tasks.size).toBe(made + 2);
  });
});
