/**
 * Disks without hard links, or with unusual error codes: paid audio is saved all the same, or the fault is reported
 * correctly.
 */
import { describe, expect, it } from "vitest";
import { closeAfterEach, openFaultSetup } from "../faults/fault-setup.ts";
import { errorOf, generate, resultTextOf } from "../support/tool-result.ts";
import { doctor, preload } from "./run-bin.ts";

closeAfterEach();

const nodeArgs = preload("fs-faults");
const faults = (...list: object[]): Record<string, string> => ({ TEST_FS_FAULTS: JSON.stringify(list) });

/** Makes creating a hard link fail, both in the output folder and in the state folder. */
const noLinks = (code: string): Record<string, string> =>
  faults({ call: "promises.link", code }, { call: "fs.linkSync", code });

it.each([
  ["EISDIR", "exFAT and FAT32 on Windows"],
  ["EIO", "rclone and Docker Desktop"],
  ["EPERM", "exFAT and FAT32 on Linux"],
  ["ENOSYS", "some FUSE file systems"],
  ["UNKNOWN", "what Windows has no other name for"],
])("a disk without hard links that reports %s (%s) gets the audio, once, and doctor passes", async (code) => {
  const setup = await openFaultSetup({ env: noLinks(code), start: { nodeArgs } });
  const call = { prompt: "No links", file_name: "story" };
  const task = await generate(setup.server, call);
  expect(task.audio?.size_bytes).toBe(20_000);
  expect((await generate(setup.server, call)).replayed).toBe(true);
  expect(await setup.testFolders.outputNames()).toEqual(["story.mp3"]);
  expect(setup.service.count("create")).toBe(1);
  const checks = await doctor(setup.testFolders.env(setup.service, noLinks(code)), { nodeArgs });
  expect(checks["output folder"]).toMatchObject({ ok: true });
  expect(await setup.testFolders.outputNames()).toEqual(["story.mp3"]);
});

describe("a disk that refuses both links and renames", () => {
  const nothing = faults(
    { call: "promises.link", code: "EIO" },
    { call: "promises.rename", code: "UNKNOWN" },
  );

  it("is reported by doctor before anything is paid, with the system's code", async () => {
    const setup = await openFaultSetup();
    const checks = await doctor(setup.testFolders.env(setup.service, nothing), { nodeArgs });
    expect(checks["output folder"]).toMatchObject({
      ok: false,
      detail: expect.stringContaining("(UNKNOWN)"),
      fix: expect.stringContaining("AUDIO_OUTPUT_DIR"),
    });
    expect(await setup.testFolders.outputNames()).toEqual([]);
  });

  it.each(["UNKNOWN", "EISDIR", "ERR_ACCESS_DENIED"])(
    "with %s is output_not_writable with that code, not a fault of the address",
    async (code) => {
      const setup = await openFaultSetup({
        env: faults({ call: "promises.link", code: "EIO" }, { call: "promises.rename", code }),
        start: { nodeArgs },
      });
      const outcome = await setup.server.call("generate_audio", { prompt: "No name" });
      expect(errorOf(outcome).code).toBe("output_not_writable");
      expect(resultTextOf(outcome)).toContain(`(${code})`);
      expect(resultTextOf(outcome)).not.toContain("AUDIO_BASE_URL");
      await setup.server.end();
      const repaired = await setup.another();
      expect((await generate(repaired, { prompt: "No name" })).replayed).toBe(true);
      expect(setup.service.count("create")).toBe(1);
    },
  );
});
