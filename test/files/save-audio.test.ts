/** Saves audio: a file that has the requested name is complete, or there is no such file. */
import { execFile, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, describe, expect, it } from "vitest";
import type { ByteSink } from "../../src/api/download.ts";
import { OUTPUT_FORMATS } from "../../src/contract/audio-format.ts";
import { AudioError } from "../../src/errors.ts";
import type { OutputFolder } from "../../src/files/output-folder.ts";
import { openOutputFolder } from "../../src/files/output-folder.ts";
import { type SaveRequest, saveAudio } from "../../src/files/save-audio.ts";
import { failureOf } from "../api/failure.ts";
import { ON_WINDOWS, skipBecause } from "../support/skip-because.ts";
import { listing, newFolder, newOutputFolder, removeFolders } from "./folders.ts";

afterEach(removeFolders);

const AUDIO = Buffer.concat([Buffer.from("ID3"), randomBytes(100_000)]);
const OTHER = Buffer.concat([Buffer.from("ID3"), randomBytes(5000)]);
const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
const clock = { wallMs: () => 1_700_000_000_000 };

const bringing =
  (bytes: Uint8Array, pieceBytes = 7000) =>
  async (sink: ByteSink): Promise<void> => {
    for (let at = 0; at < bytes.byteLength; at += pieceBytes) {
      await sink.write(bytes.subarray(at, at + pieceBytes));
    }
  };

function request(folder: OutputFolder, changes: Partial<SaveRequest> = {}): SaveRequest {
  return {
    folder,
    fileName: "story.mp3",
    mayKeepWrongFormat: true,
    format: "mp3",
    writeAudio: bringing(AUDIO),
    clock,
    ...changes,
  };
}

/** Fails with the error that file systems without hard links report. */
const noLinks = (): Promise<void> =>
  Promise.reject(Object.assign(new Error("no links"), { code: "EPERM", syscall: "link" }));

describe("saved audio", () => {
  it("is whole, hashed, readable and alone", async () => {
    const folder = await newOutputFolder();
    const file = await saveAudio(request(folder));
    expect(file).toEqual({
      shortSeconds: null,
      path: join(folder.root, "story.mp3"),
      sizeBytes: AUDIO.byteLength,
      sha256: sha256(AUDIO),
      savedAtMs: 1_700_000_000_000,
      matchesFormat: true,
    });
    expect(readFileSync(file.path).equals(AUDIO)).toBe(true);
    expect(statSync(file.path).mode & 0o777).toBe(0o644 & ~process.umask());
    expect(statSync(file.path).nlink).toBe(1);
    expect(await listing(folder.root)).toEqual(["story.mp3"]);
  });

  it("drops the bytes from before a restart", async () => {
    const folder = await newOutputFolder();
    const download = async (sink: ByteSink): Promise<void> => {
      await bringing(OTHER)(sink);
      await sink.restart();
      expect(sink.size).toBe(0);
      await bringing(AUDIO, 101)(sink);
      expect(sink.size).toBe(AUDIO.byteLength);
    };
    const file = await saveAudio(request(folder, { writeAudio: download }));
    expect(file.sha256).toBe(sha256(AUDIO));
    expect(readFileSync(file.path).equals(AUDIO)).toBe(true);
  });

  it("is written to a hidden file that only its owner can read", async () => {
    const folder = await newOutputFolder();
    let during: string[] = [];
    let mode = 0;
    const download = async (sink: ByteSink): Promise<void> => {
      await sink.write(AUDIO);
      during = await listing(folder.root);
      mode = statSync(join(folder.root, during[0] ?? "")).mode & 0o777;
    };
    await saveAudio(request(folder, { writeAudio: download }));
    expect(during).toEqual([
      expect.stringMatching(/^\.audio-generation-[0-9a-f]{16}\.\d+\.[0-9a-f]{12}\.part$/),
    ]);
    expect(mode).toBe(0o600);
  });
});

describe.each([
  ["with hard links", undefined],
  ["without hard links", noLinks],
])("a name, on a file system %s", (_what, makeLink) => {
  const save = (folder: OutputFolder, changes: Partial<SaveRequest> = {}) =>
    saveAudio(request(folder, { ...changes, ...(makeLink === undefined ? {} : { makeLink }) }));

  it("is replaced by the next free one, and nothing is overwritten", async () => {
    const folder = await newOutputFolder();
    writeFileSync(join(folder.root, "story.mp3"), OTHER);
    mkdirSync(join(folder.root, "story-2.mp3"));
    const file = await save(folder);
    expect(file.path).toBe(join(folder.root, "story-3.mp3"));
    expect(readFileSync(join(folder.root, "story.mp3")).equals(OTHER)).toBe(true);
    expect(await listing(folder.root)).toEqual(["story-2.mp3", "story-3.mp3", "story.mp3"]);
  });

  it("is adopted when its file has the same bytes", async () => {
    const folder = await newOutputFolder();
    writeFileSync(join(folder.root, "story.mp3"), AUDIO);
    const inode = statSync(join(folder.root, "story.mp3")).ino;
    const file = await save(folder);
    expect(file).toMatchObject({ path: join(folder.root, "story.mp3"), sha256: sha256(AUDIO) });
    expect(statSync(file.path).ino).toBe(inode);
    expect(await listing(folder.root)).toEqual(["story.mp3"]);
  });

  it("is not adopted through a symbolic link out of the folder, nor written through it", async () => {
    const folder = await newOutputFolder();
    const outside = join(newFolder(), "outside.mp3");
    writeFileSync(outside, AUDIO);
    symlinkSync(outside, join(folder.root, "story.mp3"));
    symlinkSync(join(newFolder(), "dangling"), join(folder.root, "story-2.mp3"));
    const file = await save(folder);
    expect(file.path).toBe(join(folder.root, "story-3.mp3"));
    expect(lstatSync(file.path).isFile()).toBe(true);
    expect(readFileSync(outside).equals(AUDIO)).toBe(true);
  });

  it("goes to exactly one of several simultaneous saves", async () => {
    const folder = await newOutputFolder();
    const each = Array.from({ length: 12 }, (_, index) =>
      Buffer.concat([AUDIO, Buffer.from(`take ${index}`)]),
    );
    const free = await Promise.all(each.map((bytes) => save(folder, { writeAudio: bringing(bytes) })));
    expect(new Set(free.map(({ path }) => path)).size).toBe(12);
    for (const file of free) expect(sha256(readFileSync(file.path))).toBe(file.sha256);
    expect(await listing(folder.root)).toHaveLength(12);
  });

  it("never shows a partial file", async () => {
    const folder = await newOutputFolder();
    const path = join(folder.root, "story.mp3");
    const sizes = new Set<number>();
    let isDone = false;
    const watching = (async () => {
      while (!isDone) {
        const stats = await import("node:fs/promises").then(({ stat }) => stat(path).catch(() => null));
        if (stats !== null) sizes.add(stats.size);
      }
    })();
    for (let round = 0; round < 20; round += 1) {
      await save(folder);
      await new Promise(setImmediate);
      unlinkSync(path);
    }
    isDone = true;
    await watching;
    expect([...sizes]).toEqual([AUDIO.byteLength]);
  });
});

describe("without hard links", () => {
  const refusing =
    (code: string): NonNullable<SaveRequest["makeLink"]> =>
    () =>
      Promise.reject(Object.assign(new Error(`${code}: refused, link`), { code, syscall: "link" }));

  it("the name that a killed process had reserved is free again after a while", async () => {
    const folder = await newOutputFolder();
    let lockFileName = "";
    const makeLink = async (): Promise<void> => {
      // Leave a lock file, like a process that was killed between creating its lock file and renaming the audio.
      const tag = createHash("sha256").update("story.mp3").digest("hex").slice(0, 16);
      lockFileName = `.audio-generation-${tag}.name`;
      writeFileSync(join(folder.root, lockFileName), "");
      await refusing("EPERM")("", "");
    };
    const file = await saveAudio(request(folder, { makeLink }));
    expect(readFileSync(file.path).equals(AUDIO)).toBe(true);
    expect(await listing(folder.root)).toEqual(["story.mp3"]);
    writeFileSync(join(folder.root, lockFileName), "");
    utimesSync(join(folder.root, lockFileName), 0, 0);
    await folder.sweepStaleTemporaryFiles();
    expect(await listing(folder.root)).toEqual(["story.mp3"]);
  });

  it("a name that living processes reserve one after the other is not taken from the last of them", async () => {
    const folder = await newOutputFolder();
    const nameHash = createHash("sha256").update("story.mp3").digest("hex").slice(0, 16);
    const lockPath = join(folder.root, `.audio-generation-${nameHash}.name`);
    writeFileSync(lockPath, "");
    const saving = saveAudio(request(folder, { makeLink: refusing("EPERM") }));
    for (let seconds = 0; seconds < 7; seconds += 1) {
      await new Promise((resolve) => setTimeout(resolve, 1000));
      expect(existsSync(lockPath), `after ${seconds} s`).toBe(true);
      expect(existsSync(join(folder.root, "story.mp3"))).toBe(false);
      // Another process ends, and the next one reserves the name.
      unlinkSync(lockPath);
      writeFileSync(lockPath, "");
    }
    unlinkSync(lockPath);
    await saving;
    expect(await listing(folder.root)).toEqual(["story.mp3"]);
  });

  it("a lock file that cannot be removed ends the save with an error", async () => {
    const folder = await newOutputFolder();
    const nameHash = createHash("sha256").update("story.mp3").digest("hex").slice(0, 16);
    mkdirSync(join(folder.root, `.audio-generation-${nameHash}.name`));
    const before = process.cpuUsage();
    const error = await failureOf(saveAudio(request(folder, { makeLink: refusing("EPERM") })));
    expect(error).toMatchObject({ code: "output_not_writable" });
    expect(process.cpuUsage(before).user / 1e6).toBeLessThan(20);
  });
});

describe("audio that does not look like its format", () => {
  it.each(["mp3", "wav", "ogg_opus"] as const)("is kept as .bin, as it is paid for (%s)", async (format) => {
    const folder = await newOutputFolder();
    const bytes = Buffer.from("#!/bin/sh is not audio");
    const changes = { format, fileName: "story.ext", writeAudio: bringing(bytes) };
    const file = await saveAudio(request(folder, changes));
    expect(file).toMatchObject({ path: join(folder.root, "story.bin"), matchesFormat: false });
    expect(readFileSync(file.path).equals(bytes)).toBe(true);
  });

  it("is dropped, to be fetched again, unless it must be kept", async () => {
    const folder = await newOutputFolder();
    const changes = {
      mayKeepWrongFormat: false,
      writeAudio: bringing(Buffer.from("#!/bin/sh is not audio")),
    };
    const failure = await failureOf(saveAudio(request(folder, changes)));
    expect(failure).toMatchObject({ code: "unexpected_response", retryable: true });
    expect(await listing(folder.root)).toEqual([]);
  });

  it("gets another name if the given one is taken", async () => {
    const folder = await newOutputFolder();
    writeFileSync(join(folder.root, "story.bin"), "else");
    const file = await saveAudio(request(folder, { writeAudio: bringing(Buffer.from("no audio")) }));
    expect(file).toMatchObject({ path: join(folder.root, "story-2.bin"), matchesFormat: false });
  });

  it.each([
    "<!DOCTYPE html><title>Anmeldung für Gäste</title>",
    '<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>',
    '\ufeff\r\n <HTML lang="de">',
    '{"error":{"code":"not_ready"}}',
    '[ {"message": "later"} ]',
    "{}",
  ])("is never kept if it is a page or a message: %s", async (text) => {
    const folder = await newOutputFolder();
    for (const format of OUTPUT_FORMATS) {
      const changes = { format, fileName: "story.ext", writeAudio: bringing(Buffer.from(text.padEnd(9000))) };
      expect(await failureOf(saveAudio(request(folder, changes)))).toMatchObject({ retryable: true });
    }
    expect(await listing(folder.root)).toEqual([]);
  });

  it("is detected for pcm if it is plain text or empty", async () => {
    const folder = await newOutputFolder();
    const pcm = { format: "pcm", fileName: "story.pcm" } as const;
    const file = await saveAudio(request(folder, { ...pcm, writeAudio: bringing(Buffer.from([1, 2])) }));
    expect(file).toMatchObject({ path: join(folder.root, "story.pcm"), matchesFormat: true });
    const text = Buffer.from("Please log in to the network.");
    const plain = await saveAudio(request(folder, { ...pcm, writeAudio: bringing(text) }));
    expect(plain).toMatchObject({ path: join(folder.root, "story.bin"), matchesFormat: false });
    rmSync(plain.path);
    const empty = await saveAudio(request(folder, { ...pcm, writeAudio: async () => {} }));
    expect(empty).toMatchObject({ path: join(folder.root, "story.bin"), matchesFormat: false });
  });
});

describe("a failure", () => {
  it("from the download is passed on, and leaves nothing", async () => {
    const folder = await newOutputFolder();
    const failure = new AudioError("network_error", "broken", { retryable: true });
    const download = async (sink: ByteSink): Promise<void> => {
      await sink.write(AUDIO);
      throw failure;
    };
    await expect(saveAudio(request(folder, { writeAudio: download }))).rejects.toBe(failure);
    expect(await listing(folder.root)).toEqual([]);
  });

  it("from another connection is not reported as one of the folder", async () => {
    const refused = Object.assign(new Error("refused"), { code: "EACCES", syscall: "connect" });
    const download = (): Promise<void> => Promise.reject(refused);
    await expect(saveAudio(request(await newOutputFolder(), { writeAudio: download }))).rejects.toBe(refused);
  });

  it.each([
    ["a code that nobody has listed", { code: "EWHATEVER", syscall: "write" }],
    ["a folder in the way", { code: "EISDIR", syscall: "rename" }],
    ["Windows' unknown error", { code: "UNKNOWN", syscall: "open" }],
    ["Node's permission model", { code: "ERR_ACCESS_DENIED" }],
  ])("of the disk, %s, is output_not_writable and names the code", async (_what, facts) => {
    const failing = Object.assign(new Error("refused"), facts);
    const download = (): Promise<void> => Promise.reject(failing);
    const failure = await failureOf(saveAudio(request(await newOutputFolder(), { writeAudio: download })));
    expect(failure.code).toBe("output_not_writable");
    expect(failure.message).toContain(`(${facts.code})`);
  });

  it("from a connection, in any call, is not reported as one of the folder", async () => {
    const reset = Object.assign(new Error("reset"), { code: "ECONNRESET", syscall: "read" });
    const download = (): Promise<void> => Promise.reject(reset);
    await expect(saveAudio(request(await newOutputFolder(), { writeAudio: download }))).rejects.toBe(reset);
  });

  it("because a symbolic link replaced the temporary file publishes nothing", async () => {
    const folder = await newOutputFolder();
    const outside = join(newFolder(), "secret");
    writeFileSync(outside, "ID3 secret");
    const download = async (sink: ByteSink): Promise<void> => {
      await sink.write(AUDIO);
      const [name = ""] = await listing(folder.root);
      unlinkSync(join(folder.root, name));
      symlinkSync(outside, join(folder.root, name));
    };
    expect((await failureOf(saveAudio(request(folder, { writeAudio: download })))).code).toBe(
      "output_not_writable",
    );
    expect(await listing(folder.root)).toEqual([]);
    expect(readFileSync(outside, "utf8")).toBe("ID3 secret");
  });
});

const CHILD = `
  const { openOutputFolder } = await import(process.argv[1]);
  const { saveAudio } = await import(process.argv[2]);
  const folder = await openOutputFolder(process.argv[3]);
  const piece = Buffer.alloc(16384, "ID3");
  // If the argument is "write", send more bytes than the buffer holds, so that the disk refuses one of the writes.
  const pieces = process.argv[4] === "write" ? 128 : 16;
  const writeAudio = async (sink) => {
    for (let n = 0; n < pieces; n += 1) await sink.write(piece);
    console.log("written");
    if (process.argv[4] === "hang") await new Promise((resolve) => setTimeout(resolve, 60000));
  };
  const request = { folder, fileName: "a.mp3", mayKeepWrongFormat: true, format: "mp3", writeAudio, clock: { wallMs: Date.now } };
  await saveAudio(request).catch((error) => console.log(error.code));
`;
const source = (name: string): string => new URL(`../../src/files/${name}`, import.meta.url).href;
const childArguments = (folder: string, mode: string): string[] => [
  "--input-type=module",
  "--eval",
  CHILD,
  source("output-folder.ts"),
  source("save-audio.ts"),
  folder,
  mode,
];

it("a save is disk_full at a limit on file sizes, and leaves nothing", skipBecause(ON_WINDOWS), async () => {
  const folder = newFolder();
  const command = ['ulimit -f 32; exec "$0" "$@"', process.execPath, ...childArguments(folder, "write")];
  const { stdout } = await promisify(execFile)("/bin/bash", ["-c", ...command]);
  expect(stdout.trim()).toBe("disk_full");
  expect(await listing(folder)).toEqual([]);
});

it("a save leaves no file under the name when the process is killed, and the temporary file is removed later", async () => {
  const path = newFolder();
  const child = spawn(process.execPath, childArguments(path, "hang"), {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await new Promise((resolve) => child.stdout.once("data", resolve));
  const exited = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await exited;
  const [left = "", ...others] = await listing(path);
  expect([others, left.endsWith(".part")]).toEqual([[], true]);
  const folder = await openOutputFolder(path);
  // We delete a file at once if its process is certainly dead. This is never certain for another machine, so a file
  // from there stays until it is old.
  const foreign = left.replace(/audio-generation-[0-9a-f]{16}/, `audio-generation-${"0".repeat(16)}`);
  writeFileSync(join(path, foreign), "");
  await folder.sweepStaleTemporaryFiles();
  expect(await listing(path)).toEqual([foreign]);
  utimesSync(join(path, foreign), 0, 0);
  await folder.sweepStaleTemporaryFiles();
  expect(await listing(path)).toEqual([]);
  expect((await saveAudio(request(folder))).path).toBe(join(path, "story.mp3"));
});
