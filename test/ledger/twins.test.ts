/** Two keys of one account that had the same task accepted at the same moment: one record goes, and never both. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { createHolderId } from "../../src/holder.ts";
import type { Ledger } from "../../src/ledger/ledger.ts";
import { openLedger } from "../../src/ledger/open-ledger.ts";
import { createLog } from "../../src/log.ts";
import { aRecord } from "./a-record.ts";

const baseUrl = "https://service.example";

function open(stateDir: string, apiKey: string): Promise<Ledger> {
  const log = createLog("silent", (text) => text);
  const config = { stateDir, storeUrl: null };
  const address = { baseUrl, apiKey };
  return openLedger({ config, address, holder: createHolderId(), log, clock: systemClock });
}

/** Whatever these ask about the task, each hears it only when all have asked. */
function inStep(ledgers: readonly Ledger[]): void {
  let asked = 0;
  let tellAll = (): void => undefined;
  const all = new Promise<void>((resolve) => {
    tellAll = resolve;
  });
  for (const { store } of ledgers) {
    const ofTask = store.ofTask.bind(store);
    store.ofTask = async (taskId) => {
      const answer = await ofTask(taskId);
      asked += 1;
      if (asked === ledgers.length) tellAll();
      await all;
      return answer;
    };
  }
}

it("the id is not lost when both see the other's record", async () => {
  const stateDir = mkdtempSync(join(tmpdir(), "agm-twins-"));
  onTestFinished(() => rmSync(stateDir, { recursive: true }));
  const ledgers = [await open(stateDir, "sk-first-0123456789"), await open(stateDir, "sk-other-0123456789")];
  onTestFinished(async () => void (await Promise.all(ledgers.map(({ store }) => store.close()))));
  const twins = await Promise.all(
    ledgers.map(async (ledger, at) => {
      const { accountId } = ledger.identity;
      const task = { taskId: "task-1", status: "queued" } as const;
      const draft = aRecord({ ...task, origin: baseUrl, accountId, recordId: `record-${at}` });
      return { ledger, record: (await ledger.claim(draft)).record };
    }),
  );
  inStep(ledgers);
  const gone = await Promise.all(twins.map(({ ledger, record }) => ledger.forgetTwin(record)));
  const left = await ledgers[0]?.ofTask("task-1");
  expect(left?.length).toBeGreaterThanOrEqual(1);
  expect(left).toHaveLength(gone.filter((isGone) => !isGone).length);
});
