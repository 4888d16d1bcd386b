/** The output folder: created if missing, tested by a real write, resolved once. */
import { chmodSync, mkdirSync, renameSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { openOutputFolder, openPartsFolder } from "../../src/files/output-folder.ts";
import { failureOf } from "../api/failure.ts";
import { skipBecause } from "../support/skip-because.ts";
import {
  asOrdinaryUser,
  listing,
  mountedFolder,
  NO_MOUNT,
  newFolder,
  readOnlyFolder,
  removeFolders,
} from "./folders.ts";

afterEach(removeFolders);

describe("an output folder", () => {
  it("is created with all its parents, for its owner alone", async () => {
    const path = join(newFolder(), "a", "b", "c");
    const folder = await openOutputFolder(path);
    expect(folder.root).toBe(path);
    await folder.ensureWritable();
    expect(statSync(path).mode & 0o777).toBe(0o700);
    expect(statSync(dirname(path)).mode & 0o777).toBe(0o700);
    expect(await listing(path)).toEqual([]);
  });

  it("keeps its mode and its content", async () => {
    const path = newFolder();
    chmodSync(path, 0o755);
    writeFileSync(join(path, "mine.txt"), "mine");
    await (await openOutputFolder(path)).ensureWritable();
    expect(statSync(path).mode & 0o777).toBe(0o755);
    expect(await listing(path)).toEqual(["mine.txt"]);
  });

  it("makes no folder of parts through a link that took its place", async () => {
    const [path, elsewhere] = [join(newFolder(), "out"), newFolder()];
    const parts = openPartsFolder(await openOutputFolder(path), { wallMs: () => 0 });
    symlinkSync(elsewhere, path);
    expect((await failureOf(parts.ensureExists())).code).toBe("output_not_writable");
    expect(await listing(elsewhere)).toEqual([]);
  });

  it("that is a symbolic link is the person's choice: its real path is used", async () => {
    const real = newFolder();
    const link = join(newFolder(), "link");
    symlinkSync(real, link);
    const folder = await openOutputFolder(link);
    expect(folder.root).toBe(real);
    await folder.ensureWritable();
  });

  it("below a symbolic link is resolved before it exists", async () => {
    const real = newFolder();
    const link = join(newFolder(), "link");
    symlinkSync(real, link);
    const folder = await openOutputFolder(join(link, "new", "er"));
    expect(folder.root).toBe(join(real, "new", "er"));
    await folder.ensureWritable();
    expect(await listing(join(real, "new"))).toEqual(["er"]);
  });

  it("that was replaced by a symbolic link later is not written to", async () => {
    const base = newFolder();
    const elsewhere = newFolder();
    const path = join(base, "out");
    mkdirSync(path);
    const folder = await openOutputFolder(path);
    renameSync(path, join(base, "moved"));
    symlinkSync(elsewhere, path);
    expect((await failureOf(folder.ensureWritable())).code).toBe("output_not_writable");
    expect(await listing(elsewhere)).toEqual([]);
  });
});

describe("a folder that cannot be used is output_not_writable, with the reason", () => {
  const reasonOf = async (path: string): Promise<string> => {
    const folder = await openOutputFolder(path);
    const failure = await failureOf(asOrdinaryUser(() => folder.ensureWritable()));
    expect(failure).toMatchObject({ code: "output_not_writable", retryable: false });
    return failure.message;
  };

  it("when it is not writable", async () => {
    expect(await reasonOf(readOnlyFolder())).toContain("no permission");
  });

  it("when it cannot be created", async () => {
    expect(await reasonOf(join(readOnlyFolder(), "a", "b"))).toContain("no permission");
  });

  it("when its file system is read-only", skipBecause(NO_MOUNT), async () => {
    expect(await reasonOf(mountedFolder("ro,size=64k"))).toContain("read-only");
  });
});

it("cleaning up removes our old temporary files and nothing else", async () => {
  const path = newFolder();
  const outside = join(newFolder(), "outside");
  writeFileSync(outside, "");
  const ours = (letter: string): string =>
    `.audio-generation-${letter.repeat(16)}.1.${letter.repeat(12)}.part`;
  const names = [ours("a"), ours("b"), ".audio-generation-x.part", "story.mp3", `${ours("c")}.mp3`];
  for (const name of names) writeFileSync(join(path, name), "");
  symlinkSync(outside, join(path, ours("d")));
  mkdirSync(join(path, ours("e")));
  const yesterday = Date.now() / 1000 - 86_400;
  for (const name of names) if (name !== ours("b")) utimesSync(join(path, name), yesterday, yesterday);
  await (await openOutputFolder(path)).sweepStaleTemporaryFiles();
  expect(await listing(path)).toEqual(
    [...names.filter((name) => name !== ours("a")), ours("d"), ours("e")].sort(),
  );
});
