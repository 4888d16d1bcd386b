/**
 * Real disks without hard links: exFAT (FUSE) and rclone's mount. If they cannot be mounted, the skip is reported.
 */
import { linkSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { closeAfterEach, type FaultSetup, openFaultSetup } from "../faults/fault-setup.ts";
import { missing, NOT_LINUX, skipBecause } from "../support/skip-because.ts";
import { generate, taskOf } from "../support/tool-result.ts";
import { type Mount, mountExfat, mountRclone } from "./mounts.ts";
import { doctor } from "./run-bin.ts";

closeAfterEach();

const noExfat = NOT_LINUX ?? missing("mkfs.exfat", "mount.exfat-fuse");
const noRclone = NOT_LINUX ?? missing("rclone", "fusermount3");

const DISKS = [
  ["exFAT", mountExfat, noExfat],
  ["rclone", mountRclone, noRclone],
] as const;

const onDisk = (folder: string): Promise<FaultSetup> =>
  openFaultSetup({
    env: { AUDIO_OUTPUT_DIR: join(folder, "audio"), AUDIO_STATE_DIR: join(folder, "state") },
  });

describe.each(DISKS)("%s", (name, mountDisk, lack) => {
  const skipped = skipBecause(lack);
  let root = "";
  let folder = "";
  let mount: Mount | null = null;

  // Mounted only if a test runs, because nothing is unmounted after tests that were all skipped.
  beforeAll(async () => {
    root = realpathSync(mkdtempSync(join(tmpdir(), "agm-mount-")));
    mount = await mountDisk(root);
    folder = mount?.folder ?? "";
  });
  afterAll(() => {
    mount?.unmount();
    rmSync(root, { recursive: true, force: true });
  });
  beforeEach(({ task, skip }) => {
    if (mount !== null) return;
    task.meta.whySkipped = `${name} cannot be mounted here (a loop device, /dev/fuse)`;
    skip();
  });

  it("has no hard links, as the following tests require", skipped, () => {
    writeFileSync(join(folder, "one"), "");
    expect(() => linkSync(join(folder, "one"), join(folder, "two"))).toThrow(/EPERM|EIO/);
  });

  it("stores audio and ledger, and supports a repeat, a second take and a read", skipped, async () => {
    const setup = await onDisk(folder);
    const call = { prompt: `On ${name}`, file_name: "Story" };
    const { audio } = await generate(setup.server, call);
    expect(audio?.size_bytes).toBe(20_000);
    expect((await generate(setup.server, call)).replayed).toBe(true);
    expect(await setup.server.request("resources/read", { uri: audio?.uri })).toHaveProperty(
      "result.contents",
    );
    const taken = await setup.server.call("generate_audio", { prompt: "Other words", file_name: "Story" });
    expect(basename(taskOf(taken).audio?.path ?? "")).toBe("Story-2.mp3");
    await setup.server.end();
    const next = await setup.another();
    expect((await generate(next, call)).replayed).toBe(true);
    expect(setup.service.count("content")).toBe(2);
    expect(readdirSync(join(folder, "audio")).sort()).toEqual(["Story-2.mp3", "Story.mp3"]);
  });

  it("passes doctor, which leaves nothing behind", skipped, async () => {
    const setup = await openFaultSetup();
    const outputDir = join(folder, "checked");
    const checks = await doctor(setup.testFolders.env(setup.service, { AUDIO_OUTPUT_DIR: outputDir }));
    expect(checks["output folder"]).toMatchObject({ ok: true });
    expect(readdirSync(outputDir)).toEqual([]);
  });

  it("is recognised as a share: a ledger on it causes a warning", skipped, async () => {
    const setup = await openFaultSetup();
    const env = setup.testFolders.env(setup.service, { AUDIO_STATE_DIR: join(folder, "ledger") });
    const { store } = await doctor(env);
    expect(store).toMatchObject({ ok: true });
    expect(store?.detail.includes("network share (rclone)")).toBe(name === "rclone");
  });

  // exFAT ignores the case of names.
  if (name === "exFAT")
    it("finds a resource under a spelling in another case, which is the same name", skipped, async () => {
      const outputDir = join(folder, "cases");
      const setup = await openFaultSetup({ env: { AUDIO_OUTPUT_DIR: outputDir } });
      const { audio } = await generate(setup.server, { prompt: "Cases", file_name: "Story" });
      const path = audio?.path ?? "";
      for (const spelling of [
        join(dirname(path), basename(path).toUpperCase()),
        join(dirname(path).replace(/cases$/, "CASES"), basename(path)),
      ]) {
        const answer = await setup.server.request("resources/read", { uri: pathToFileURL(spelling).href });
        expect(answer).toHaveProperty("result.contents");
      }
      const other = await setup.server.call("generate_audio", { prompt: "Other", file_name: "STORY" });
      expect(basename(taskOf(other).audio?.path ?? "")).toBe("STORY-2.mp3");
      await setup.server.end();
      const elsewhere = await setup.another({ AUDIO_OUTPUT_DIR: outputDir.replace(/cases$/, "CASES") });
      const again = await elsewhere.call("generate_audio", { prompt: "Cases", file_name: "Story" });
      expect(taskOf(again).replayed).toBe(true);
      expect(setup.service.count("content")).toBe(2);
    });
});
