/** Audio that was saved earlier is used only after its hash was verified. */
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { probeNameAvailability } from "../../src/files/free-names.ts";
import type { OutputFolder } from "../../src/files/output-folder.ts";
import { type SavedFile, saveAudio } from "../../src/files/save-audio.ts";
import { copyToName, isIntact, readSaved } from "../../src/files/saved-copies.ts";
import { failureOf } from "../api/failure.ts";
import { listing, newFolder, newOutputFolder, removeFolders } from "./folders.ts";

afterEach(removeFolders);

const AUDIO = Buffer.concat([Buffer.from("ID3"), randomBytes(50_000)]);

async function saved(bytes: Buffer = AUDIO): Promise<{ folder: OutputFolder; file: SavedFile }> {
  const folder = await newOutputFolder();
  const file = await saveAudio({
    folder,
    fileName: "story.mp3",
    mayKeepWrongFormat: true,
    format: "mp3",
    writeAudio: (sink) => sink.write(bytes),
    clock: { wallMs: () => 0 },
  });
  return { folder, file };
}

/** Changes after which a saved file is no longer the file that was saved. */
const CHANGES: ReadonlyArray<readonly [string, (path: string) => void]> = [
  ["is gone", unlinkSync],
  ["was cut", (path) => writeFileSync(path, AUDIO.subarray(0, 100))],
  ["has other bytes of the same length", (path) => writeFileSync(path, Buffer.alloc(AUDIO.byteLength, 1))],
  [
    "is a folder now",
    (path) => {
      unlinkSync(path);
      mkdirSync(path);
    },
  ],
  [
    "is a symbolic link to the same bytes elsewhere",
    (path) => {
      const elsewhere = join(newFolder(), "same.mp3");
      writeFileSync(elsewhere, AUDIO);
      unlinkSync(path);
      symlinkSync(elsewhere, path);
    },
  ],
  [
    "is a symbolic link to the same bytes beside it",
    (path) => {
      renameSync(path, `${path}.moved`);
      symlinkSync(`${path}.moved`, path);
    },
  ],
  [
    "is a pipe now, without hanging",
    (path) => {
      unlinkSync(path);
      execFileSync("mkfifo", [path]);
    },
  ],
];

describe("a saved file", () => {
  it.each(CHANGES)("is neither intact nor read nor copied anew if it %s", async (_what, change) => {
    const { folder, file } = await saved();
    change(file.path);
    expect(await isIntact(file, folder.root)).toBe(false);
    expect((await failureOf(readSaved(file, folder.root, 1_000_000))).code).toBe("not_found");
    expect((await failureOf(copyToName(file, folder, "other.mp3"))).code).toBe("not_found");
    expect(await listing(folder.root)).not.toContain("other.mp3");
  });

  it("is not accepted outside of the root", async () => {
    const { file } = await saved();
    const other = newFolder();
    expect(await isIntact(file, other)).toBe(false);
    expect(await isIntact(file, `${file.path.slice(0, -"/story.mp3".length)}x`)).toBe(false);
    // An empty path must not count as a path in the root folder.
    expect(await isIntact(file, "")).toBe(false);
    expect((await failureOf(readSaved(file, other, 1_000_000))).code).toBe("not_found");
  });

  it("is not accepted through a folder that is a symbolic link out of the root", async () => {
    const { folder, file } = await saved();
    const other = newFolder();
    symlinkSync(folder.root, join(other, "link"));
    expect(await isIntact({ ...file, path: join(other, "link", "story.mp3") }, other)).toBe(false);
  });

  it("is too_large to read over the limit", async () => {
    const { folder, file } = await saved();
    const failure = await failureOf(readSaved(file, folder.root, AUDIO.byteLength - 1));
    expect(failure.code).toBe("too_large");
    expect(failure.message).toContain(file.path);
    await readSaved(file, folder.root, AUDIO.byteLength);
  });
});

describe("a second name", () => {
  it("has the same audio and keeps the first", async () => {
    const { folder, file } = await saved();
    const second = await copyToName(file, folder, "again.mp3");
    expect(second).toEqual({ ...file, path: join(folder.root, "again.mp3") });
    expect(await isIntact(second, folder.root)).toBe(true);
    writeFileSync(second.path, "edited");
    expect(await isIntact(file, folder.root)).toBe(true);
    expect(await listing(folder.root)).toEqual(["again.mp3", "story.mp3"]);
  });

  it("adopts a file with the same bytes", async () => {
    const { folder, file } = await saved();
    writeFileSync(join(folder.root, "again.mp3"), AUDIO);
    expect((await copyToName(file, folder, "again.mp3")).path).toBe(join(folder.root, "again.mp3"));
  });

  it("whose bytes are not audio stays .bin", async () => {
    const { folder, file } = await saved(Buffer.from("no audio"));
    expect((await copyToName(file, folder, "again.mp3")).path).toBe(join(folder.root, "again.bin"));
  });
});

describe("checking a name before anything is sent", () => {
  it("distinguishes free from taken, also by a folder or a dangling symbolic link", async () => {
    const { folder } = await saved();
    mkdirSync(join(folder.root, "folder.mp3"));
    symlinkSync(join(folder.root, "nowhere"), join(folder.root, "link.mp3"));
    const look = (name: string) => probeNameAvailability(folder, name);
    expect(await look("free.mp3")).toBe("free");
    for (const name of ["story.mp3", "folder.mp3", "link.mp3"]) expect(await look(name)).toBe("taken");
  });

  it("finds every name free in a folder that does not exist yet", async () => {
    const { folder } = await saved();
    const missing = { ...folder, root: join(folder.root, "missing") };
    expect(await probeNameAvailability(missing, "story.mp3")).toBe("free");
  });

  it("says when the file system has no room for the name", async () => {
    const { folder } = await saved();
    const failure = await failureOf(probeNameAvailability(folder, `${"a".repeat(300)}.mp3`));
    expect(failure.code).toBe("invalid_file_name");
  });
});
