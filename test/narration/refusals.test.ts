/** What a narration reports if something prevents it, and the remedy that the report names. */
import { rm } from "node:fs/promises";
import { beforeEach, describe, expect, it } from "vitest";
import { FAST } from "../support/bin-under-test.ts";
import { startBinClient, startToolClient } from "../support/tool-client.ts";
import { errorOf } from "../support/tool-result.ts";
import { buildText, narrationOf, openNarratorEach } from "./narrator.ts";

const narrator = openNarratorEach();

const TWO = buildText("One", "Two");

it.each([
  ["402", 402, "insufficient_credits", /At least 150 credits must be available/],
  ["401", 401, "invalid_api_key", /AUDIO_API_KEY.*the server has to be restarted/],
])("a refusal inside a narration %s says what is needed", async (_status, status, code, words) => {
  narrator.service.refuseEvery("create", status, code);
  const reported = await narrator.narrate({ text: TWO, max_credits: 1000 });
  expect(reported).toMatchObject({ status: "stopped", problems: [{ code }] });
  expect(reported.message).toMatch(words);
  expect(reported.next_step).toContain("When it is fixed");
  // The sentence and the field name the same limit.
  expect(reported.next_step).toContain(`max_credits ${reported.credits.suggested_max}:`);
  expect(reported.credits).toMatchObject({ max: 1000, suggested_max: 1000 });
});

describe("an account whose credits suffice for one task at a time", () => {
  beforeEach(() => {
    narrator.service.processingMs = 300;
    narrator.service.intercept = ({ kind }, response, self) => {
      const isRunning = [...self.tasks.values()].some((task) => self.view(task)["status"] !== "succeeded");
      if (kind !== "create" || !isRunning) return false;
      self.refuse(response, 402, "insufficient_credits");
      return true;
    };
  });

  it("makes one part after the other", async () => {
    const names = ["One", "Two", "Three", "Four"];
    const done = await narrator.narrate({ text: buildText(...names), max_credits: 1000 });
    expect(done).toMatchObject({ status: "finished", parts: { total: 4, saved: 4 }, problems: [] });
    const made = [...narrator.service.tasks.values()].map(({ body }) => /(\w+) begins/.exec(body)?.[1]);
    expect(made).toEqual(names);
  });

  it("goes on when a task has ended whose process was killed meanwhile", async () => {
    narrator.service.processingMs = 1500;
    const call = { text: buildText("Other"), output_format: "pcm", max_credits: 1000, wait_seconds: 0 };
    const other = await startBinClient(narrator.testFolders.env(narrator.service, FAST));
    await other.call("narrate", call);
    await expect.poll(() => narrator.service.tasks.size).toBe(1);
    const running = narrator.narrate({ text: TWO, max_credits: 1000, wait_seconds: 60 });
    await expect.poll(() => narrator.service.count("create")).toBeGreaterThan(1);
    process.kill(other.pid, "SIGKILL");
    expect(await running).toMatchObject({ status: "finished", parts: { saved: 2 } });
  });
});

it("an unknown status of a part is reported while the narration runs", async () => {
  narrator.service.intercept = ({ kind, taskId }, response, self) => {
    const task = self.tasks.get(taskId ?? "");
    if (kind !== "query" || task === undefined) return false;
    self.json(response, 200, { ...self.view(task), status: "sleeping" });
    return true;
  };
  const reported = await narrator.narrate({ text: buildText("One"), max_credits: 1000, wait_seconds: 3 });
  expect(reported).toMatchObject({ status: "running", problems: [{ part: 1, code: "unexpected_response" }] });
  expect(reported.message).toMatch(/the status "sleeping", which its contract does not define/);
});

it("a ledger that was lost makes the id unknown, and the error says how to go on; the text finds the paid parts, and no part mentions the id", async () => {
  narrator.service.processingMs = 300;
  const { narration_id } = await narrator.narrate({ text: TWO, max_credits: 1000, wait_seconds: 0 });
  await expect.poll(() => narrator.service.tasks.size, { timeout: 60_000 }).toBe(2);
  await narrator.client.close();
  await rm(narrator.testFolders.stateDir, { recursive: true });
  narrator.client = await startToolClient(narrator.testFolders.env(narrator.service, FAST));
  const unknown = await narrator.client.call("narrate", { narration_id });
  expect(errorOf(unknown).code).toBe("not_found");
  expect(unknown.content[0]?.text).toContain("Called with the same text and settings, narrate finds it too");
  const again = await narrator.client.call("narrate", {
    text: TWO,
    output_format: "pcm",
    max_credits: 1000,
  });
  expect(narrationOf(again)).toMatchObject({ status: "finished", problems: [] });
  expect(narrator.service.tasks.size).toBe(2);
});
