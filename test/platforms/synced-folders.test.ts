/** A ledger in a folder that a program synchronises: doctor explains the risk and the remedy. */
import { join } from "node:path";
import { expect, it } from "vitest";
import { closeAfterEach, openFaultSetup } from "../faults/fault-setup.ts";
import { doctor } from "./run-bin.ts";

closeAfterEach();

it.each([
  "OneDrive - Example GmbH",
  "Dropbox",
  "Mobile Documents",
  "iCloudDrive",
  "Google Drive",
  "My Drive",
])("doctor warns of a state folder below %s", async (name) => {
  const setup = await openFaultSetup();
  const stateDir = join(setup.testFolders.stateDir, name, "audio");
  const { store } = await doctor(setup.testFolders.env(setup.service, { AUDIO_STATE_DIR: stateDir }));
  expect(store).toMatchObject({ ok: true });
  expect(store?.detail).toContain(`lies in ${name}, which copies files while they are written`);
  expect(store?.detail).toContain("set AUDIO_STATE_DIR");
});

it("doctor does not warn of an ordinary folder", async () => {
  const setup = await openFaultSetup();
  const { store } = await doctor(setup.testFolders.env(setup.service));
  expect(store?.detail).not.toMatch(/lies in|network/);
});
