/**
 * The state disk is nearly full when the ledger is created: the call is refused, and succeeds once there is space.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { closeAfterEach, openFaultSetup } from "../faults/fault-setup.ts";
import { NO_MOUNT } from "../files/folders.ts";
import { skipBecause } from "../support/skip-because.ts";
import { generate } from "../support/tool-result.ts";
import { mountSmallDisk } from "./mounts.ts";

closeAfterEach();

it.each([120, 180, 220])("%d KiB", skipBecause(NO_MOUNT), async (sizeKiB) => {
  const folder = mkdtempSync(join(tmpdir(), "agm-mount-"));
  const disk = mountSmallDisk(join(folder, "state"), sizeKiB);
  onTestFinished(() => {
    disk?.unmount();
    rmSync(folder, { recursive: true, force: true });
  });
  const setup = await openFaultSetup({ env: { AUDIO_STATE_DIR: join(folder, "state") } });
  const first = await setup.server.call("generate_audio", { prompt: "Little room" });
  expect(first.content[0]?.text).not.toContain("damaged");
  disk?.resize(20_000);
  const next = await setup.another();
  expect((await generate(next, { prompt: "Little room" })).status).toBe("succeeded");
  expect(setup.service.tasks.size).toBe(1);
});
