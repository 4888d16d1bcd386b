/** Joins that are aborted or fail: bad files, failing disks, wrong arguments. Also the titles of chapters. */
import { spawnSync } from "node:child_process";
import { appendFileSync, closeSync, mkdirSync, openSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { joinAudio } from "../../src/audio/join.ts";
import type { JoinPart, JoinRequest } from "../../src/audio/join-request.ts";
import { DamagedPartError } from "../../src/audio/part-errors.ts";
import { scratchFolder } from "../support/scratch.ts";
import { partFiles } from "./join-in-memory.ts";
import { cbrFrames } from "./make-mp3.ts";
import { noise, wav } from "./make-wav.ts";

const sound = noise(600_000);
const wavParts = (): JoinPart[] => partFiles([{ bytes: wav(sound) }, { bytes: wav(sound) }]);

/** Joins two wav parts, with the given changes to the arguments, and counts the bytes written. */
function joining(changes: Partial<JoinRequest>): { done: Promise<unknown>; written: () => number } {
  let written = 0;
  const write = async (bytes: Uint8Array): Promise<void> => {
    written += bytes.byteLength;
  };
  const done = joinAudio({ format: "wav", parts: wavParts(), chapters: [], write, ...changes });
  return { done, written: () => written };
}

test("stops when its signal aborts, before and in the middle", async () => {
  const before = joining({ signal: AbortSignal.abort("enough") });
  await expect(before.done).rejects.toBe("enough");
  expect(before.written()).toBe(0);

  const stop = new AbortController();
  let blocks = 0;
  const write = async (): Promise<void> => {
    blocks += 1;
    stop.abort(new Error("enough"));
  };
  await expect(joining({ write, signal: stop.signal }).done).rejects.toThrow("enough");
  expect(blocks).toBe(1);
});

test("reports the error of the disk", async () => {
  const write = async (): Promise<void> => {
    throw new Error("the disk is full");
  };
  await expect(joining({ write }).done).rejects.toThrow("the disk is full");
});

test("names a part whose file is missing, a folder, or a pipe without a writer", async () => {
  const folder = scratchFolder();
  const [first, second] = wavParts();
  if (first === undefined || second === undefined) throw new Error("there are no parts");
  mkdirSync(join(folder, "folder"));
  const pipe = spawnSync("mkfifo", [join(folder, "pipe")]);
  for (const name of ["missing", "folder", ...(pipe.status === 0 ? ["pipe"] : [])]) {
    const { done, written } = joining({ parts: [first, { ...second, path: join(folder, name) }] });
    await expect(done, name).rejects.toMatchObject({ partIndex: 1 });
    expect(written()).toBe(0);
  }
});

test.each([
  ["wav", wav(sound)],
  ["mp3", cbrFrames(2000)],
] as const)("names a part of %s that becomes shorter between its two passes", async (format, bytes) => {
  const parts = partFiles([{ bytes }, { bytes }]);
  let isFirst = true;
  const write = async (): Promise<void> => {
    if (isFirst) truncateSync(parts[1]?.path ?? "", 1000);
    isFirst = false;
  };
  const { done } = joining({ format, parts, write });
  await expect(done).rejects.toThrow(DamagedPartError);
  await expect(done).rejects.toMatchObject({ partIndex: 1 });
});

test("names a part of mp3 that grows between its two passes", async () => {
  const parts = partFiles([{ bytes: cbrFrames(2000) }, { bytes: cbrFrames(2000) }]);
  const write = async (): Promise<void> => appendFileSync(parts[1]?.path ?? "", cbrFrames(2));
  await expect(joining({ format: "mp3", parts, write }).done).rejects.toMatchObject({ partIndex: 1 });
});

/** Returns the lowest free file descriptor. The next file to be opened gets it. */
function nextFileNumber(): number {
  const number = openSync(import.meta.filename, "r");
  closeSync(number);
  return number;
}

test("closes every part, also after a failure", async () => {
  const [part] = partFiles([{ bytes: wav(noise(1000)) }]);
  if (part === undefined) throw new Error("there is no part");
  const before = nextFileNumber();
  await joining({ parts: Array<JoinPart>(50).fill(part) }).done;
  const broken = { ...part, path: import.meta.filename };
  await expect(joining({ parts: [part, broken] }).done).rejects.toThrow(DamagedPartError);
  expect(nextFileNumber()).toBe(before);
});

test("throws a caller's mistake as such", async () => {
  const [part] = wavParts();
  if (part === undefined) throw new Error("there is no part");
  const mistakes: Partial<JoinRequest>[] = [
    { parts: [] },
    { parts: [{ ...part, pauseAfterSeconds: -1 }] },
    { parts: [{ ...part, pauseAfterSeconds: Number.NaN }] },
    { chapters: [{ title: "One", firstPart: 2 }] },
    { chapters: [0, 0].map((firstPart) => ({ title: "One", firstPart })) },
  ];
  for (const mistake of mistakes) {
    await expect(joining(mistake).done).rejects.toMatchObject({
      code: "unexpected_response",
      retryable: true,
    });
  }
});

test("writes titles as one line, and gives a chapter without one its number", async () => {
  const { done } = joining({
    chapters: [
      { title: " \n\0 ", firstPart: 0 },
      { title: "a\r\nb\u0000c", firstPart: 1 },
    ],
  });
  await expect(done).resolves.toMatchObject({ chapters: [{ title: "1" }, { title: "a b c" }] });
});
