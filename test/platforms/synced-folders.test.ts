/** A ledger in a folder that a program synchronises: doctor explains the risk and the remedy. */
import { join } from "node:path";
import { expect, it } from "vitest";
import { closeBenchesAfterEach, openBench } from "../faults/bench.ts";
import { doctor } from "./scene.ts";

closeBenchesAfterEach();

it.each([
  "OneDrive - Example GmbH",
  "Dropbox",
  "Mobile Documents",
  "iCloudDrive",
  "Google Drive",
  "My Drive",
])("doctor warns of a state folder below %s", async (name) => {
  const bench = await openBench();
  const stateDir = join(bench.workplace.stateDir, name, "audio");
  const { store } = await doctor(bench.workplace.env(bench.service, { AUDIO_STATE_DIR: stateDir }));
  expect(store).toMatchObject({ ok: true });
  expect(store?.detail).toContain(`lies in ${name}, which copies files while they are written`);
  expect(store?.detail).toContain("set AUDIO_STATE_DIR");
});

it("doctor does not warn of an ordinary folder", async () => {
  const bench = await openBench();
  const { store } = await doctor(bench.workplace.env(bench.service));
  expect(store?.detail).not.toMatch(/lies in|network/);
});
