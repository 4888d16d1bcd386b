/**
 * However a narration ends, both the text and the structured result say what the file lacks, what is not spoken, and
 * why it ended.
 */
import { expect, it } from "vitest";
import { startBinClient } from "../support/tool-client.ts";
import { resultTextOf, type ToolOutcome } from "../support/tool-result.ts";
import { buildText, narrationOf, openNarratorEach, PART_BYTES } from "./narrator.ts";

const narrator = openNarratorEach();

const CODE = "\n\n```\nnpm ci\n```\n";
const TEXT = `${buildText("One", "Two", "Three")}${CODE}`;
const LONGER = `${buildText("One", "Two", "Three", "Four")}${CODE}`;
/** A busy machine needs seconds to start a process. */
const LONG = { timeout: 20_000, interval: 50 };

const narrate = (args: Record<string, unknown>, signal?: AbortSignal): Promise<ToolOutcome> =>
  narrator.client.call(
    "narrate",
    { ...(args["narration_id"] === undefined ? { output_format: "pcm" } : {}), ...args },
    signal === undefined ? {} : { signal },
  );

const damageTwo = (): void => {
  narrator.service.intercept = ({ kind, taskId }, response, self) => {
    if (kind !== "content" || self.tasks.get(taskId ?? "")?.body.includes("Two begins") !== true)
      return false;
    // Too large for mono and for stereo sound.
    const bytes = Buffer.alloc(PART_BYTES * 4, 1);
    response.writeHead(200, { "content-type": "application/octet-stream", "content-length": bytes.length });
    response.end(bytes);
    return true;
  };
};

const plan = async (text = TEXT, limit = 1000): Promise<string> =>
  (await narrator.planWithin(limit, { text })).narration_id;
const made = async (limit = 1000, more: Record<string, unknown> = {}): Promise<ToolOutcome> =>
  await narrate({ narration_id: await plan(TEXT, limit), max_credits: limit, ...more });

async function after(arrange: () => void, more: Record<string, unknown> = {}): Promise<ToolOutcome> {
  arrange();
  return await made(1000, more);
}

/** Starts a narration of four parts. Waits until the first one is saved; the others never end. */
async function midway(signal?: AbortSignal): Promise<string> {
  const narration_id = await plan(LONGER);
  narrator.service.intercept = ({ kind, taskId }, response, self) => {
    const task = self.tasks.get(taskId ?? "");
    if (kind !== "query" || task === undefined || task.body.includes("One begins")) return false;
    self.json(response, 200, { ...self.view(task), status: "processing" });
    return true;
  };
  if (signal === undefined) await narrate({ narration_id, max_credits: 1000, wait_seconds: 0 });
  else void narrate({ narration_id, max_credits: 1000 }, signal).catch(() => undefined);
  const saved = async (): Promise<number> =>
    narrationOf(await narrate({ narration_id, wait_seconds: 0 })).parts.saved;
  await expect.poll(saved, LONG).toBe(1);
  return narration_id;
}

/** Waits until the paid audio is in a file, and returns the result of another call. */
async function joined(args: Record<string, unknown>): Promise<ToolOutcome> {
  narrator.service.refuseEvery("create", 503, "api_unavailable");
  const countFiles = async (): Promise<number> => narrationOf(await narrate(args)).files.length;
  await expect.poll(countFiles, LONG).toBe(1);
  return await narrate(args);
}

const ENDS: ReadonlyArray<readonly [string, () => Promise<ToolOutcome>, lacks: RegExp | null, why: RegExp]> =
  [
    ["finished", () => made(), null, /Cost 30 credits/],
    [
      "skip_failed with a part missing",
      () => after(() => narrator.failPart("Two"), { skip_failed: true }),
      /without part 2 of 3/,
      /Part 2 .*failed/,
    ],
    ["its limit", () => made(160), /without part 3 of 3/, /limit of 160 credits/],
    [
      "402",
      () => after(() => narrator.refuseSubmissionsFrom(2, 402, "insufficient_credits")),
      /without parts 2 to 3 of 3/,
      /150 credits must be available/,
    ],
    [
      "403",
      () => after(() => narrator.refuseSubmissionsFrom(2, 403, "purchase_required")),
      /without parts 2 to 3 of 3/,
      /HTTP 403/,
    ],
    [
      "the budget",
      async () => {
        await narrator.restart({ AUDIO_CREDIT_BUDGET: "160" });
        return await made();
      },
      /without part 3 of 3/,
      /AUDIO_CREDIT_BUDGET|budget of 160/,
    ],
    [
      "stop",
      async () => {
        const narration_id = await midway();
        await narrate({ narration_id, stop: true });
        return await joined({ narration_id });
      },
      /without (?:part 4|parts 3 to 4|parts 2 to 4) of 4/,
      /Stopped, as asked for/,
    ],
    [
      "a cancelled call",
      async () => {
        const controller = new AbortController();
        const narration_id = await midway(controller.signal);
        controller.abort("the user pressed escape");
        return await joined({ narration_id });
      },
      /without (?:part 4|parts 3 to 4|parts 2 to 4) of 4/,
      /cancelled/i,
    ],
    [
      "a part that fails",
      () => after(() => narrator.failPart("Two")),
      /without part 2 of 3/,
      /Part 2 .*failed/,
    ],
    ["a damaged part", () => after(damageTwo), /without part 2 of 3/, /Part 2 .*damaged/],
  ];

it.each(ENDS)("%s", async (_what, end, lacks, why) => {
  const outcome = await end();
  const { structuredContent } = outcome;
  for (const form of [resultTextOf(outcome), JSON.stringify(structuredContent)]) {
    if (lacks === null) expect(form).not.toMatch(/without parts? \d/);
    else expect(form).toMatch(lacks);
    expect(form).toMatch(why);
    expect(form).toMatch(/Not spoken: a block of code/);
  }
});

it("the end of its process", async () => {
  await narrator.reopen({}, {}, startBinClient);
  await midway();
  process.kill(narrator.client.pid, "SIGKILL");
  await narrator.restart();
  const outcome = await narrate({ text: LONGER });
  for (const form of [resultTextOf(outcome), JSON.stringify(outcome.structuredContent)]) {
    expect(form).toMatch(/1 of 4 parts saved/);
    expect(form).toMatch(/The process that ran it has ended/);
    expect(form).toMatch(/Not spoken: a block of code/);
  }
});
