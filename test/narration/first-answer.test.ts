/** The answer to the call that starts a narration, while no process drives it yet. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import {
  openLedgerController,
  startProcess,
  startService,
  useTestFolders,
} from "../processes/server-processes.ts";
import { FAST } from "../support/bin-under-test.ts";

/** How long the ledger takes no write. A call waits longer for it. */
const HELD_MS = 700;

it("the first answer never says that the process has ended, however slow the ledger is", async () => {
  const service = await startService({ processingMs: 60_000 });
  const testFolders = await useTestFolders();
  const client = await startProcess(testFolders, service, FAST);
  await client.call("list_tasks", {});
  const ledgerController = await openLedgerController(testFolders, service);
  for (let number = 0; number < 5; number += 1) {
    const call = { text: `Once upon a time, ${number}.`, max_credits: 1000, wait_seconds: 0 };
    let isAnswered = false;
    const answer = client.call("narrate", call).finally(() => {
      isAnswered = true;
    });
    for (let isHeld = false; !isAnswered && !isHeld; ) {
      ledgerController.hold();
      isHeld = ledgerController.undrivenNarrationCount() > 0;
      if (isHeld) await sleep(HELD_MS);
      ledgerController.release();
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect((await answer).structuredContent).toMatchObject({ status: "running" });
  }
});
