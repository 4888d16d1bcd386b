/**
 * Replaces a saved file by a new one. Only the intended file is replaced. At every moment, the old or the new file is
 * complete.
 */
import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { buildPreviousName, MAX_FILE_NAME_CODE_POINTS } from "../../src/files/file-name.ts";
import type { OutputFolder } from "../../src/files/output-folder.ts";
import type { LinkMaker } from "../../src/files/publish.ts";
import type { FileToReplace } from "../../src/files/replace.ts";
import { type SavedFile, saveAudio } from "../../src/files/save-audio.ts";
import { listing, newOutputFolder, removeFolders } from "./folders.ts";

afterEach(removeFolders);

const OLD = Buffer.concat([Buffer.from("ID3"), randomBytes(20_000)]);
const NEW = Buffer.concat([Buffer.from("ID3"), randomBytes(30_000)]);

const replaced: FileToReplace = {
  sizeBytes: OLD.byteLength,
  sha256: createHash("sha256").update(OLD).digest("hex"),
  name: "story.mp3",
  movedTo: "story (previous).mp3",
};

const noLinks: LinkMaker = () => Promise.reject(Object.assign(new Error("EPERM"), { code: "EPERM" }));

/** Both ways to publish a file: a hard link, and a rename on file systems without hard links. */
const DISKS: ReadonlyArray<readonly [string, LinkMaker | undefined]> = [
  ["with hard links", undefined],
  ["without hard links", noLinks],
];

function save(
  folder: OutputFolder,
  makeLink: LinkMaker | undefined,
  more: { download?: Buffer } = {},
): Promise<SavedFile> {
  return saveAudio({
    folder,
    fileName: "story.mp3",
    fileToReplace: replaced,
    mayKeepWrongFormat: true,
    format: "mp3",
    writeAudio: (sink) => sink.write(more.download ?? NEW),
    clock: { wallMs: () => 0 },
    ...(makeLink === undefined ? {} : { makeLink }),
  });
}

describe.each(DISKS)("on a disk %s", (_disk, makeLink) => {
  it("the old file is removed once the new one has its name", async () => {
    const folder = await newOutputFolder();
    writeFileSync(join(folder.root, "story.mp3"), OLD);
    expect((await save(folder, makeLink)).path).toBe(join(folder.root, "story.mp3"));
    expect(await listing(folder.root)).toEqual(["story.mp3"]);
    expect(readFileSync(join(folder.root, "story.mp3")).equals(NEW)).toBe(true);
  });

  it("if another file has the backup name of the old file, both stay", async () => {
    const folder = await newOutputFolder();
    writeFileSync(join(folder.root, "story.mp3"), OLD);
    mkdirSync(join(folder.root, "story (previous).mp3"));
    expect((await save(folder, makeLink)).path).toBe(join(folder.root, "story-2.mp3"));
    expect(readFileSync(join(folder.root, "story.mp3")).equals(OLD)).toBe(true);
  });

  it("the backup that a crash left is removed once the new file is complete, and nothing else of that name", async () => {
    const folder = await newOutputFolder();
    writeFileSync(join(folder.root, "story (previous).mp3"), OLD);
    await save(folder, makeLink);
    expect(await listing(folder.root)).toEqual(["story.mp3"]);
    writeFileSync(join(folder.root, "story (previous).mp3"), "somebody's own");
    await save(folder, makeLink);
    expect(await listing(folder.root)).toEqual(["story (previous).mp3", "story.mp3"]);
  });

  it("bytes that are not audio replace nothing", async () => {
    const folder = await newOutputFolder();
    writeFileSync(join(folder.root, "story.mp3"), OLD);
    const file = await save(folder, makeLink, { download: Buffer.from("no audio") });
    expect(file.path).toBe(join(folder.root, "story.bin"));
    expect(readFileSync(join(folder.root, "story.mp3")).equals(OLD)).toBe(true);
  });
});

it("an old file gets its name back if the new one is lost at the last moment", async () => {
  const folder = await newOutputFolder();
  writeFileSync(join(folder.root, "story.mp3"), OLD);
  const removed: LinkMaker = (existing) => {
    unlinkSync(existing);
    return noLinks("", "");
  };
  await expect(save(folder, removed)).rejects.toMatchObject({ code: "output_not_writable" });
  expect(await listing(folder.root)).toEqual(["story.mp3"]);
  expect(readFileSync(join(folder.root, "story.mp3")).equals(OLD)).toBe(true);
});

it("an old file whose name another program took while it was free keeps its backup name, whole", async () => {
  const folder = await newOutputFolder();
  writeFileSync(join(folder.root, "story.mp3"), OLD);
  const inBetween: LinkMaker = () => {
    writeFileSync(join(folder.root, "story.mp3"), "faster", { flag: "wx" });
    return Promise.reject(Object.assign(new Error("EEXIST"), { code: "EEXIST" }));
  };
  await expect(save(folder, inBetween)).rejects.toMatchObject({ code: "invalid_file_name" });
  expect(readFileSync(join(folder.root, "story.mp3"), "utf8")).toBe("faster");
  expect(readFileSync(join(folder.root, "story (previous).mp3")).equals(OLD)).toBe(true);
});

it("the backup name says what the file is, and is valid wherever the name is", () => {
  expect(buildPreviousName("bridge.mp3")).toBe("bridge (previous).mp3");
  const long = `${"界".repeat(MAX_FILE_NAME_CODE_POINTS)}`.slice(0, 82);
  expect(Buffer.byteLength(buildPreviousName(`${long}.mp3`))).toBeLessThanOrEqual(255);
  expect(buildPreviousName(`${long}.mp3`)).toMatch(/^界+ \(previous\)\.mp3$/);
});
