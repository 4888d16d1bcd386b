/**
 * A disk that fills up in the middle of a narration: it is reported, nothing is lost, and with free space nothing is
 * paid twice.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect, it } from "vitest";
import { NO_MOUNT } from "../files/folders.ts";
import { mountSmallDisk, type SmallDisk } from "../platforms/mounts.ts";
import { skipBecause } from "../support/skip-because.ts";
import { buildText, Narrator, PART_BYTES } from "./narrator.ts";

const root = mkdtempSync(join(tmpdir(), "agm-mount-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let narrator: Narrator | undefined;
let mounted: SmallDisk | null = null;

afterEach(async () => {
  await narrator?.stop();
  mounted?.unmount();
});

const PART_KIB = PART_BYTES / 1024;

it.each([
  ["while a part is saved", 2.5 * PART_KIB, 2],
  ["while the parts are joined", 5 * PART_KIB, 4],
])("a disk that is full %s", skipBecause(NO_MOUNT), async (_, sizeKiB, savedParts) => {
  mounted = mountSmallDisk(join(root, `disk-${savedParts}`), Math.ceil(sizeKiB));
  const folder = mounted?.folder ?? "";
  narrator = await Narrator.start({ AUDIO_OUTPUT_DIR: folder });
  const text = buildText("One", "Two", "Three", "Four");
  const stopped = await narrator.narrate({ text, max_credits: 1000 });
  expect(stopped.status).toBe("stopped");
  expect(stopped.parts.saved).toBe(savedParts);
  expect(stopped.problems.map(({ code }) => code)).toContain("disk_full");
  expect((await readdir(folder)).filter((name) => name.endsWith(".pcm"))).toEqual([]);
  const sent = narrator.service.count("create");

  // The second call submits no part a second time.
  const again = await narrator.narrate({ text, max_credits: 1000 });
  expect(again.status).toBe("stopped");
  expect(narrator.service.count("create")).toBeLessThanOrEqual(Math.max(sent, 4));

  mounted?.resize(20 * PART_KIB);
  const done = await narrator.narrate({ text, max_credits: 1000 });
  expect(done).toMatchObject({ status: "finished", credits: { charged: 40 }, problems: [] });
  expect(narrator.service.tasks.size).toBe(4);
  expect(narrator.service.count("create")).toBe(4);
  expect((await readFile(done.files[0]?.path ?? "")).length).toBeGreaterThan(4 * PART_BYTES);
});
