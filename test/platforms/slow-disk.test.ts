/**
 * A disk whose flushes take seconds: the ledger blocks the process, which still stops in time, and doctor names the
 * real cause.
 */
import { expect, it } from "vitest";
import { closeAfterEach, openFaultSetup } from "../faults/fault-setup.ts";
import { generate } from "../support/tool-result.ts";
import { doctor, preload } from "./run-bin.ts";

closeAfterEach();

const nodeArgs = preload("slow-ledger");

it("doctor does not report the other checks as failed while the ledger blocks", async () => {
  const setup = await openFaultSetup();
  const slow = { TEST_FLUSH_MS: "8500", TEST_FLUSHES: "1" };
  const beganAtMs = performance.now();
  const checks = await doctor(setup.testFolders.env(setup.service, slow), { nodeArgs });
  // A flush was really slow.
  expect(performance.now() - beganAtMs).toBeGreaterThan(8500);
  expect(checks["output folder"]).toMatchObject({ ok: true });
  expect(checks["host"]).toMatchObject({ ok: true });
  expect(checks["key"]).toMatchObject({ ok: true });
}, 60_000);

it("the server ends soon after losing its client, and the accepted task is found again", async () => {
  const setup = await openFaultSetup({
    env: { TEST_FLUSH_MS: "700" },
    service: { processingMs: 60_000 },
    start: { nodeArgs },
  });
  const callsBeganAtMs = performance.now();
  for (const prompt of ["Slow one", "Slow two"]) {
    expect((await generate(setup.server, { prompt, wait_seconds: 0 })).task_id).not.toBeNull();
  }
  // Each request is flushed several times before its task id is returned.
  expect(performance.now() - callsBeganAtMs).toBeGreaterThan(2 * 2 * 700);
  const beganAtMs = performance.now();
  expect(await setup.server.end()).toMatchObject({ code: 0, signal: null });
  // The server does not wait for its task, which would take a minute.
  expect(performance.now() - beganAtMs).toBeLessThan(20_000);
  setup.service.processingMs = 0;
  const next = await setup.another({ TEST_FLUSH_MS: "0" });
  expect(await generate(next, { prompt: "Slow one" })).toMatchObject({
    status: "succeeded",
    replayed: true,
  });
  expect(setup.service.count("create")).toBe(2);
});
