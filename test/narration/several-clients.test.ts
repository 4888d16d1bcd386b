/**
 * One narration in several clients: followed, cancelled, taken over, edited while it runs, on a disk that refuses
 * writes.
 */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FAST } from "../support/bin-under-test.ts";
import { killHard } from "../support/processes.ts";
import { startBinClient, startToolClient } from "../support/tool-client.ts";
import { errorOf, resultTextOf } from "../support/tool-result.ts";
import { buildText, narrationOf, openNarratorEach } from "./narrator.ts";

const narrator = openNarratorEach();

/** A busy machine needs seconds to start a process. */
const LONG = { timeout: 20_000, interval: 10 };

const EIGHT = buildText("One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight");

describe("a narration", () => {
  it("is driven by one window and followed by the other, and paid once", async () => {
    narrator.service.processingMs = 100;
    const other = await startToolClient(narrator.testFolders.env(narrator.service, FAST));
    const args = { text: EIGHT, output_format: "pcm", max_credits: 5000 };
    const [mine, theirs] = await Promise.all([
      narrator.client.call("narrate", args).then(narrationOf),
      other.call("narrate", args).then(narrationOf),
    ]);
    await other.close();
    expect([mine.status, theirs.status]).toEqual(["finished", "finished"]);
    expect(theirs.files).toEqual(mine.files);
    expect(narrator.service.tasks.size).toBe(8);
  });

  it("creates nothing more once its call is cancelled, and continues with the same call", async () => {
    narrator.service.processingMs = 150;
    const controller = new AbortController();
    const cancelled = narrator.client
      .call(
        "narrate",
        { text: EIGHT, output_format: "pcm", max_credits: 5000 },
        { signal: controller.signal },
      )
      .catch(() => "cancelled");
    await expect.poll(() => narrator.service.count("create"), LONG).toBeGreaterThan(1);
    controller.abort();
    expect(await cancelled).toBe("cancelled");
    await new Promise((resolve) => setTimeout(resolve, 300));
    const sent = narrator.service.count("create");
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(narrator.service.count("create")).toBe(sent);
    const status = await narrator.narrate({ text: EIGHT });
    expect(status).toMatchObject({ status: "stopped", problems: [{ code: "cancelled" }] });
    const done = await narrator.narrate({ text: EIGHT, max_credits: 5000 });
    expect(done.status).toBe("finished");
    expect(narrator.service.tasks.size).toBe(8);
  });

  it("continues for the other window when one window cancels its call", async () => {
    // No part ends before the call is cancelled.
    narrator.service.processingMs = 600_000;
    const other = await startToolClient(narrator.testFolders.env(narrator.service, FAST));
    const args = { text: EIGHT, output_format: "pcm", max_credits: 5000 };
    const controller = new AbortController();
    const mine = narrator.client
      .call("narrate", args, { signal: controller.signal })
      .catch(() => "cancelled");
    const theirs = other.call("narrate", args).then(narrationOf);
    await expect.poll(() => narrator.service.count("create"), LONG).toBeGreaterThan(1);
    controller.abort();
    expect(await mine).toBe("cancelled");
    narrator.service.processingMs = 20;
    for (const task of narrator.service.tasks.values()) task.status = "succeeded";
    expect((await theirs).status).toBe("finished");
    await other.close();
    expect(narrator.service.tasks.size).toBe(8);
  });

  it("stops when its user cancels the only call that waits, although that call named no limit", async () => {
    const { narration_id } = await narrator.narrate({ text: EIGHT, max_credits: 5000, wait_seconds: 0 });
    await expect.poll(() => narrator.service.count("create"), LONG).toBeGreaterThan(1);
    const controller = new AbortController();
    const waiting = narrator.client
      .call("narrate", { narration_id, wait_seconds: 60 }, { signal: controller.signal })
      .catch(() => "cancelled");
    await new Promise((resolve) => setTimeout(resolve, 100));
    controller.abort("the user pressed stop");
    expect(await waiting).toBe("cancelled");
    await expect
      .poll(async () => (await narrator.narrate({ narration_id })).problems, LONG)
      .toMatchObject([{ code: "cancelled" }]);
    expect(narrator.service.tasks.size).toBeLessThan(8);
  });

  it("whose process was killed is reported as stopped, spends nothing by itself, and is taken over by the next call", async () => {
    narrator.service.processingMs = 150;
    const killTarget = await startBinClient(narrator.testFolders.env(narrator.service, FAST));
    void killTarget
      .call("narrate", { text: EIGHT, output_format: "pcm", max_credits: 5000 })
      .catch(() => undefined);
    await expect.poll(() => narrator.service.count("create"), LONG).toBeGreaterThan(2);
    await killHard(killTarget.pid);
    const stopped = await narrator.narrate({ text: EIGHT });
    expect(stopped.status).toBe("stopped");
    expect(stopped.message).toContain("The process that ran it has ended.");
    const sent = narrator.service.count("create");
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(narrator.service.count("create")).toBe(sent);
    const done = await narrator.narrate({ narration_id: stopped.narration_id, max_credits: 5000 });
    expect(done).toMatchObject({ status: "finished", credits: { charged: 80 } });
    expect(narrator.service.tasks.size).toBe(8);
  });

  it("keeps its first plan, whatever happens to its input file", async () => {
    const inputDir = join(narrator.testFolders.root, "texts");
    await mkdir(inputDir);
    await narrator.restart({ AUDIO_INPUT_DIR: inputDir });
    const file = join(inputDir, "story.txt");
    await writeFile(file, buildText("One", "Two"));
    const plan = await narrator.narrate({ file: "story.txt" });
    await writeFile(file, buildText("One", "Changed"));
    const done = await narrator.narrate({ narration_id: plan.narration_id, max_credits: 1000 });
    expect(done.status).toBe("finished");
    const spoken = narrator.service.exchanges.filter(({ kind }) => kind === "create").map(({ body }) => body);
    expect(spoken.some((body) => body.includes("Two begins"))).toBe(true);
    expect(spoken.some((body) => body.includes("Changed"))).toBe(false);
    const edited = await narrator.narrate({ file: "story.txt" });
    expect(edited).toMatchObject({ status: "planned", parts: { total: 2, already_paid: 1 } });
  });
});

it("many voices that nobody speaks with leave the answer short", async () => {
  const voices = Array.from({ length: 500 }, (_, index) => `N${index}: mabel`);
  const { message } = await narrator.narrate({ text: "A: Good morning.", voices });
  expect(message).toContain("So it is with 490 more of the names in voices.");
  expect(message.length).toBeLessThan(2000);
});

it.each([
  ["nothing to speak", {}, /exactly one of text, file and narration_id/],
  ["two texts", { text: "a", file: "b.txt" }, /file must not stand beside text: give exactly one of/],
  ["only signs", { text: "🎧 — … !" }, /nothing|no letter/i],
  ["an empty text", { text: "" }, /nothing|empty/i],
  ["an unknown id", { narration_id: `nar_${"0".repeat(32)}` }, /No narration of this service/],
  ["an unknown id in blanks", { narration_id: ` nar_${"0".repeat(32)}\n` }, /No narration of this service/],
  ["no id", { narration_id: "task-1" }, /must be an id that narrate returned/],
  [
    "a plan's argument with an id",
    { narration_id: `nar_${"0".repeat(32)}`, speed: 1.2 },
    /speed needs the text or file again/,
  ],
  ["an unknown voice", { text: "Hello.", voice: "sofia" }, /voice.*sophie_en_zh/],
  ["an unknown speaker's voice", { text: "A: Hello.", voices: { A: "sofia" } }, /voices has "A: sofia": /],
  [
    "a speaker without a voice",
    { text: "A: Hello.", voices: ["A"] },
    /voices has "A": each is NAME: voice id/,
  ],
  [
    "a speaker named twice",
    { text: "A: Hello.", voices: ["A: kian_en_zh", "A: cedric_en_zh"] },
    /voices has "A: cedric_en_zh": a name is there twice/,
  ],
  [
    "a quote of nothing",
    { text: "Hello.", retakes: [{ quote: "Farewell", take: 2 }] },
    /The quote "Farewell" of a retake .*part/,
  ],
  ["too long a text", { text: "a".repeat(100_001) }, /at most 100000 characters/],
  ["a file without a folder", { file: "a.txt" }, /AUDIO_INPUT_DIR/],
  ["a negative limit", { text: "Hello.", max_credits: -1 }, /max_credits/],
])("a call with contradicting arguments %s is refused, and nothing is sent", async (_what, args, words) => {
  const outcome = await narrator.client.call("narrate", args);
  expect(["invalid_request", "not_found", "configuration_error"]).toContain(errorOf(outcome).code);
  expect(resultTextOf(outcome)).toMatch(words);
  expect(narrator.service.exchanges).toEqual([]);
});

it("a quote that two parts contain is refused with both", async () => {
  const outcome = await narrator.client.call("narrate", {
    text: buildText("One", "Two"),
    retakes: [{ quote: "The river ran past", take: 2 }],
  });
  expect(resultTextOf(outcome)).toMatch(/part 1: .*part 2: /s);
});

describe("the limit", () => {
  /** Makes every task fail, with a refund. */
  const failAll = (): void => {
    for (const task of narrator.service.tasks.values()) task.status = "failed";
  };

  it("allows nothing after a stop, even if accepted tasks fail", async () => {
    narrator.service.processingMs = 60_000;
    const running = await narrator.narrate({ text: EIGHT, max_credits: 5000, wait_seconds: 0 });
    await expect.poll(() => narrator.service.tasks.size, LONG).toBe(2);
    await narrator.narrate({ narration_id: running.narration_id, stop: true });
    failAll();
    await new Promise((resolve) => setTimeout(resolve, 800));
    expect(narrator.service.tasks.size).toBe(2);
  });

  it("applies to parts that a killed process had begun, and that failed", async () => {
    narrator.service.processingMs = 60_000;
    const killTarget = await startBinClient(narrator.testFolders.env(narrator.service, FAST));
    void killTarget
      .call("narrate", { text: EIGHT, output_format: "pcm", max_credits: 5000 })
      .catch(() => undefined);
    await expect.poll(() => narrator.service.tasks.size, LONG).toBe(2);
    await killHard(killTarget.pid);
    failAll();
    const stopped = await narrator.narrate({ text: EIGHT, max_credits: 1 });
    expect(stopped).toMatchObject({ status: "stopped", credits: { charged: 0 } });
    expect(narrator.service.tasks.size).toBe(2);
  });

  it("applies to parts whose response a killed process never received, and that failed", async () => {
    narrator.service.intercept = (exchange, _response, self) => {
      if (exchange.kind !== "create") return false;
      self.accept(exchange);
      return true;
    };
    const killTarget = await startBinClient(narrator.testFolders.env(narrator.service, FAST));
    void killTarget
      .call("narrate", { text: EIGHT, output_format: "pcm", max_credits: 5000 })
      .catch(() => undefined);
    await expect.poll(() => narrator.service.tasks.size, LONG).toBeGreaterThan(0);
    await killHard(killTarget.pid);
    // Wait for requests that the process sent just before its end.
    await new Promise((resolve) => setTimeout(resolve, 300));
    narrator.service.intercept = undefined;
    const taskCountBefore = narrator.service.tasks.size;
    failAll();
    const stopped = await narrator.narrate({ text: EIGHT, max_credits: 1 });
    expect(stopped).toMatchObject({ status: "stopped", credits: { charged: 0 } });
    expect(narrator.service.tasks.size).toBe(taskCountBefore);
  });

  it("is not spent by a call that was cancelled before it began", async () => {
    const signal = AbortSignal.abort(new Error("gone"));
    const args = { text: EIGHT, output_format: "pcm", max_credits: 5000, wait_seconds: 0 };
    await expect(narrator.client.call("narrate", args, { signal })).rejects.toThrow();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(narrator.service.tasks.size).toBe(0);
  });
});

it("another account's audio that is not here is bought only within the limit", async () => {
  await narrator.reopen({}, { apiKeys: ["sk-first", "sk-second"], separateAccounts: true });
  const text = buildText("One", "Two", "Three");
  await narrator.narrate({ text, max_credits: 1000 });
  await rm(narrator.testFolders.outputDir, { recursive: true });
  await narrator.restart({ AUDIO_API_KEY: "sk-second" });
  const stopped = await narrator.narrate({ text, max_credits: 1 });
  expect(stopped).toMatchObject({ status: "stopped", problems: [{ code: "max_credits_reached" }] });
  expect(narrator.service.tasks.size).toBe(3);
});

it("a title contains no line break, and a book of headings alone is refused at once", async () => {
  const turned = await narrator.narrate({
    text: "# Down \u202e the hole\n\nOnce upon a time there was a rabbit.",
  });
  const list = resultTextOf(await narrator.client.call("list_tasks", {}));
  expect(list).toContain(turned.narration_id);
  expect(list).not.toContain("\u202e");
  const outcome = await narrator.client.call("narrate", { text: "# a\n".repeat(24_000) });
  expect(errorOf(outcome).code).toBe("invalid_request");
  expect(resultTextOf(outcome)).toContain("24000 headings");
});

it("audio that is not as long as the service says is reported with the file", async () => {
  narrator.service.audioSeconds = 4.6;
  const done = await narrator.narrate({ text: buildText("One", "Two"), max_credits: 1000 });
  expect(done).toMatchObject({ status: "finished", problems: [{ part: 1, code: "listen" }, { part: 2 }] });
  expect(done.message).toMatch(/plays 4\.0 s, where the service said 4\.6 s/);
});

it("a limit that another window raises while a run ends is obeyed, and its call does not wait for the end", async () => {
  narrator.service.processingMs = 1500;
  narrator.service.intercept = ({ kind, ordinal }, response, self) => {
    if (kind !== "create" || ordinal !== 3) return false;
    self.refuse(response, 403, "purchase_required");
    return true;
  };
  const text = buildText("One", "Two", "Three", "Four");
  const running = await narrator.narrate({ text, max_credits: 5000, wait_seconds: 0 });
  await expect.poll(() => narrator.service.count("create"), LONG).toBeGreaterThan(2);
  const other = await startToolClient(narrator.testFolders.env(narrator.service, FAST));
  await other.call("narrate", { narration_id: running.narration_id, max_credits: 6000, wait_seconds: 0 });
  await expect
    .poll(async () => (await narrator.narrate({ narration_id: running.narration_id })).status, LONG)
    .toBe("finished");
  await other.close();
  expect(narrator.service.tasks.size).toBe(4);
});
