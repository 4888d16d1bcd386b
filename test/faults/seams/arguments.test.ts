/** No argument within its bounds blocks the process: other calls are answered meanwhile. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { PART_BYTES } from "../../narration/narrator.ts";
import { pause } from "../defects/read-from-outside.ts";
import { closeAfterEach, type FaultSetup, shareFaultSetup } from "../fault-setup.ts";

closeAfterEach();

const setup = shareFaultSetup({ service: { audioBytes: PART_BYTES }, start: { isInProcess: false } });

/** A slow machine plans 90 KB in 3 s. What grows with the square takes far longer. */
const ANSWERED_WITHIN_MS = 6000;

/**
 * The processor time that the server has used, so that other programs of a busy machine do not count. Linux counts it in
 * hundredths of a second; elsewhere this is the time of day.
 */
function readServerMs({ server }: FaultSetup): number {
  if (process.platform !== "linux") return performance.now();
  const [, fields = ""] = readFileSync(`/proc/${server.child.pid}/stat`, "utf8").split(") ");
  const [userTicks = 0, systemTicks = 0] = fields.split(" ").slice(11, 13).map(Number);
  return 10 * (userTicks + systemTicks);
}

/** Expects that another call is answered soon while the server works on what it was asked before. */
async function expectAnswered(setup: FaultSetup): Promise<void> {
  await pause(100);
  const askedAtMs = readServerMs(setup);
  await setup.server.call("list_voices", {});
  expect(readServerMs(setup) - askedAtMs).toBeLessThan(ANSWERED_WITHIN_MS);
}

const BLANKS = " ".repeat(90_000);
const TEXT = "# A\n\nAlpha words.\n\n# B\n\nBravo words.";

it.each<[string, string, Record<string, unknown>]>([
  ["blanks in a prompt", "generate_audio", { prompt: `a${" ".repeat(2000)}b`, wait_seconds: 0 }],
  ["blanks in a query", "list_tasks", { query: `a${BLANKS}b` }],
  ["blanks in the search for voices", "list_voices", { query: `a${BLANKS}b`, language: BLANKS }],
  ["blanks in a rule of pronunciation", "narrate", { text: TEXT, pronounce: [`A${" ".repeat(190)}=b`] }],
  ["blanks in a name", "narrate", { text: TEXT, file_name: `a${BLANKS}b` }],
  ["blanks in a text", "narrate", { text: `Alpha${BLANKS}words` }],
  ["blanks at the ends of lines", "narrate", { text: `Alpha${" ".repeat(400)}\n`.repeat(220) }],
  ["blanks in an id", "narrate", { narration_id: `nar_${BLANKS}` }],
  ["blanks in an id of a task", "get_task", { task_id: `req-${BLANKS}x` }],
  ["ranges of chapters", "narrate", { text: TEXT, chapters: "1-2,".repeat(20_000) }],
  ["dashes between chapters", "narrate", { text: TEXT, chapters: `1${" - ".repeat(30_000)}2` }],
  ["a label of blanks", "narrate", { text: `${BLANKS}:${BLANKS}x`, voices: ["A: sophie_en_zh"] }],
  ["open brackets", "narrate", { text: "[pause ".repeat(13_000) }],
  ["marks of pauses in a line", "narrate", { text: "a [pause 1s] ".repeat(7000) }],
  ["open tags of breaks", "narrate", { text: `<break time="${BLANKS}` }],
  ["digits of pauses", "narrate", { text: `[pause ${"1".repeat(90_000)}s]` }],
  ["arrows of cues", "narrate", { text: `00:00:01,000 --> ${BLANKS}00:00:02,000\nHi\n\n`.repeat(2) }],
  ["combining marks", "narrate", { text: `a${"\u0301".repeat(90_000)}` }],
  ["quotation marks", "generate_audio", { prompt: "“".repeat(2048), wait_seconds: 0 }],
])("%s (%#, %s)", async (_, tool, args) => {
  const { server } = setup();
  const id = server.begin(tool, args);
  await expectAnswered(setup());
  await server.answerTo(id);
});

it("blanks in quotes of retakes and edits", async () => {
  const { server } = setup();
  const planned = await server.call("narrate", { text: TEXT });
  const narration_id = planned.structuredContent?.["narration_id"];
  const quote = `Alpha${" ".repeat(1900)}words`;
  const ids = [
    server.begin("narrate", {
      narration_id,
      retakes: Array.from({ length: 100 }, () => ({ quote, take: 2 })),
    }),
    server.begin("narrate", {
      narration_id,
      edits: Array.from({ length: 100 }, () => ({ quote, replacement: "x" })),
    }),
    server.begin("narrate", {
      narration_id,
      edits: [{ quote: "Alpha words", replacement: `a${" ".repeat(49_000)}b` }],
    }),
  ];
  await expectAnswered(setup());
  for (const id of ids) await server.answerTo(id);
});
