/** The sums of spent credits in the result of `list_tasks`. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { FAST } from "../support/bin-under-test.ts";
import { openFoldersEach, openServiceEach } from "../support/e2e-setup.ts";
import { AGE_SENDS_SQL } from "../support/ledger-rows.ts";
import { killHard } from "../support/processes.ts";
import { startBinClient, startToolClient } from "../support/tool-client.ts";
import { resultTextOf } from "../support/tool-result.ts";

const service = openServiceEach();
const testFolders = openFoldersEach();

it.each([
  [{}, "Spent: 20 credits today, 20 in 7 days, 20 in 30 days.", undefined],
  [{ AUDIO_CREDIT_BUDGET: "1500" }, "20 in 30 days; the budget of 1,500 in any 24 hours leaves 1,480.", 1480],
])("spending is stated with sums and any budget: %j", async (settings, words, remainingBudget) => {
  const client = await startToolClient(testFolders.env(service, { ...FAST, ...settings }));
  await client.call("generate_audio", { prompt: "One." });
  await client.call("generate_audio", { prompt: "Two." });
  const listed = await client.call("list_tasks", {});
  expect(resultTextOf(listed)).toContain(words);
  expect(listed.structuredContent).toMatchObject({ message: expect.stringContaining(words) });
  expect(listed.structuredContent?.["spent"]).toEqual({
    today: 20,
    days_7: 20,
    days_30: 20,
    ...(remainingBudget === undefined ? {} : { budget_left: remainingBudget }),
  });
  await client.close();
});

it("a send without an answer counts as held for a day, because no task runs longer", async () => {
  service.intercept = ({ kind }) => kind === "create";
  const env = testFolders.env(service, FAST);
  const killed = await startBinClient(env);
  const answered = killed.call("generate_audio", { prompt: "One." }).catch(() => undefined);
  await expect.poll(() => service.count("create")).toBe(1);
  await killHard(killed.pid);
  await answered;
  const client = await startToolClient(env);
  expect(resultTextOf(await client.call("list_tasks", {}))).toContain("up to 150 more are held");
  const db = new DatabaseSync(join(testFolders.stateDir, "ledger.sqlite"), { timeout: 5000 });
  db.exec(AGE_SENDS_SQL);
  db.close();
  expect(resultTextOf(await client.call("list_tasks", {}))).not.toContain("held");
  await client.close();
});
