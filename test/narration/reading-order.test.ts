/** Parts begin in reading order, also if the limit lets only one begin at a time. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { buildText, Narrator } from "./narrator.ts";

const NAMES = ["One", "Two", "Three", "Four", "Five"];

it.each([
  ["the suggested limit", 1000],
  ["a limit with room for two parts", 300],
  ["a limit with room for one part and a little more", 180],
])("parts begin in reading order under %s", async (_, limit) => {
  const narrator = await Narrator.start({}, { processingMs: 30 });
  onTestFinished(() => narrator.stop());
  const begun = await narrator.narrate({ text: buildText(...NAMES), max_credits: limit, wait_seconds: 20 });
  // A limit below the suggested one is answered with the plan first.
  if (begun.status === "planned")
    await narrator.narrate({ narration_id: begun.narration_id, max_credits: limit, wait_seconds: 20 });
  const sent = narrator.service.exchanges.flatMap(({ kind, body }) =>
    kind === "create" ? NAMES.filter((name) => body.includes(`${name} begins`)) : [],
  );
  expect(sent.length).toBeGreaterThan(limit < 200 ? 2 : 4);
  expect(sent).toEqual(NAMES.slice(0, sent.length));
});

it("what a listener names changes the order alone: not the limit, nor how often a part is sent", async () => {
  const narrator = await Narrator.start({}, { processingMs: 150 });
  onTestFinished(() => narrator.stop());
  const names = ["One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight"];
  const plan = await narrator.narrate({ text: buildText(...names) });
  const uri = `audio://narrations/${plan.narration_id}`;
  const read = (query: string): Promise<string> => narrator.client.readText(`${uri}${query}`);
  // A plan that nobody has agreed to is not begun.
  await read("?heard=3");
  expect(narrator.service.count("create")).toBe(0);
  const limit = 200;
  const agreed = { narration_id: plan.narration_id, max_credits: limit };
  // A limit below the suggested one is answered with the plan first.
  expect(await narrator.narrate(agreed)).toMatchObject({ status: "planned" });
  const running = narrator.narrate({ ...agreed, wait_seconds: 30 });
  const database = new DatabaseSync(join(narrator.testFolders.stateDir, "ledger.sqlite"), { timeout: 5000 });
  onTestFinished(() => database.close());
  const readHeard = async () => {
    await read("?heard=999999");
    return database.prepare("SELECT heard_part FROM agm_narration").get()?.["heard_part"];
  };
  // A number beyond the last part means the last one.
  await expect.poll(readHeard).toBe(names.length - 1);
  let isOver = false;
  const jumping = (async () => {
    for (let jump = 0; !isOver; jump += 1) {
      await Promise.all([8, 1, 999_999, 0, 1 + (jump % 8)].map((part) => read(`?heard=${part}`)));
      // Client and server are one process here: without a pause nothing else would have its turn.
      await sleep(2);
    }
  })();
  for (const refused of ["?heard=-1", "?heard=1e3", "?heard=", "?heard=1234567", "?heard=1&heard=2"])
    await expect(read(refused), refused).rejects.toThrow(/audio/);
  await expect(narrator.client.readText("audio://narrations/nar_0?heard=1")).rejects.toThrow(/narration/);
  const ended = await running;
  isOver = true;
  await jumping;
  expect(ended).toMatchObject({ status: "stopped", problems: [{ code: "max_credits_reached" }] });
  expect(ended.credits.charged).toBeLessThanOrEqual(limit);
  const sent = narrator.service.exchanges.flatMap(({ kind, body }) =>
    kind === "create" ? names.filter((name) => body.includes(`${name} begins`)) : [],
  );
  expect(sent.length).toBeGreaterThan(2);
  expect(new Set(sent).size).toBe(sent.length);
});
