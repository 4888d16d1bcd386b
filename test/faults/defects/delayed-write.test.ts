/**
 * A write that was delayed on the network while another process took over is refused, because another process drives
 * the request.
 */
import { expect, it } from "vitest";
import { PostgresServer, whyNoPostgres } from "../../support/postgres-server.ts";
import { skipBecause } from "../../support/skip-because.ts";
import { generate } from "../../support/tool-result.ts";
import { closeAfterEach, openFaultSetup } from "../fault-setup.ts";
import type { RawServer } from "../raw-server.ts";
import { pause, readOnlyTaskRow, wireTo } from "./read-from-outside.ts";

closeAfterEach();

/** Longer than a lease lasts: 3 s in these tests, and 15 s if they run with version 0.1.0. */
const OUTLASTS_THE_LEASE = { wait_seconds: 19 };

it("a write that arrives after another process has acquired the lease is refused", {
  ...skipBecause(whyNoPostgres()),
  timeout: 40_000,
}, async ({ onTestFinished }) => {
  const postgres = await PostgresServer.start();
  onTestFinished(() => postgres.remove());
  const wire = await wireTo(postgres);
  const setup = await openFaultSetup({ env: { AUDIO_STORE_URL: wire.url }, start: { isInProcess: false } });
  await setup.server.call("list_tasks", {});
  let letGo = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    wire.onSent = (bytes) => {
      // The first transaction after the answer to the submission records the task.
      if (setup.service.tasks.size === 0 || !bytes.includes("BEGIN ISOLATION")) return undefined;
      wire.onSent = undefined;
      resolve();
      return new Promise<void>((go) => {
        letGo = go;
      });
    };
  });
  const call = { prompt: "Written late", ...OUTLASTS_THE_LEASE };
  setup.server.begin("generate_audio", call);
  await held;
  setup.server.child.kill("SIGSTOP");
  const other: RawServer = await setup.another({ AUDIO_STORE_URL: postgres.url });
  const task = await generate(other, call);
  letGo();
  const expectUnchanged = async (): Promise<void> => {
    await pause(200);
    expect(await readOnlyTaskRow(other)).toMatchObject({
      status: "succeeded",
      task_id: task.task_id,
      audio_path: task.audio?.path,
    });
  };
  await expectUnchanged();
  setup.server.child.kill("SIGCONT");
  await expectUnchanged();
  expect(setup.service.tasks.size).toBe(1);
});
