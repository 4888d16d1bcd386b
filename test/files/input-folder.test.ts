/** Reads texts from a real file system: the input folder allows some paths and refuses others. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, linkSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { appendFile } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { AudioError } from "../../src/errors.ts";
import { readInputFile } from "../../src/files/input-folder.ts";
import { skipBecause } from "../support/skip-because.ts";
import { asOrdinaryUser, newFolder, removeFolders } from "./folders.ts";

afterEach(removeFolders);

const MIB = 1024 * 1024;
const SECRET = "the secret of somebody else";

/** Creates an input folder, and beside it a folder from which the server must not read. */
function scene(): { readonly inside: string; readonly outside: string } {
  const root = newFolder();
  const [inside, outside] = [join(root, "texts"), join(root, "private")];
  mkdirSync(join(inside, "sub"), { recursive: true });
  mkdirSync(outside);
  writeFileSync(join(inside, "note.txt"), "A note.");
  writeFileSync(join(inside, "sub", "page.md"), "# A page");
  writeFileSync(join(outside, "secret.txt"), SECRET);
  return { inside, outside };
}

async function refusal(folder: string | null, file: string): Promise<AudioError> {
  try {
    await readInputFile(folder, file);
  } catch (error) {
    if (error instanceof AudioError) return error;
    throw error;
  }
  throw new Error(`${file} was read`);
}

describe("a file in the input folder", () => {
  it("is read by its relative path and by its absolute path", async () => {
    const { inside } = scene();
    const note = { text: "A note.", format: "plain" };
    expect(await readInputFile(inside, "note.txt")).toEqual(note);
    expect(await readInputFile(inside, join(inside, "note.txt"))).toEqual(note);
    expect(await readInputFile(inside, "sub/../note.txt")).toEqual(note);
    expect(await readInputFile(inside, "./sub/page.md")).toEqual({ text: "# A page", format: "markdown" });
    writeFileSync(join(inside, "Loud.MARKDOWN"), "x");
    expect((await readInputFile(inside, "Loud.MARKDOWN")).format).toBe("markdown");
  });

  it.each([
    ["Erzählung.txt", "NFD", "NFC"],
    ["Erzählung.txt", "NFC", "NFD"],
    ["Überm Fluß/한국어 é.md", "NFD", "NFC"],
  ] as const)(
    "is found by the other Unicode form of its name: %s, %s on disk",
    async (name, onDisk, asked) => {
      const { inside } = scene();
      const path = join(inside, name.normalize(onDisk));
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, "Found.");
      for (const file of [name.normalize(asked), join(inside, name.normalize(asked))])
        expect(await readInputFile(inside, file)).toMatchObject({ text: "Found." });
    },
  );

  it("is not guessed among several forms of its name", async () => {
    const { inside } = scene();
    // The composed letter, the base letter with its marks in either order, and half of both.
    for (const name of ["\u1e69", "s\u0323\u0307"]) writeFileSync(join(inside, `${name}.txt`), name);
    const file = "\u1e61\u0323.txt";
    if (existsSync(join(inside, file))) return;
    expect((await refusal(inside, file)).message).toMatch(/does not exist/);
  });

  it("may be reached through a link that stays inside, and the folder itself may be a link", async () => {
    const { inside } = scene();
    symlinkSync("note.txt", join(inside, "link.txt"));
    symlinkSync(inside, join(inside, "..", "alias"));
    const alias = join(inside, "..", "alias");
    const note = { text: "A note.", format: "plain" };
    expect(await readInputFile(inside, "link.txt")).toEqual(note);
    expect(await readInputFile(alias, "note.txt")).toEqual(note);
    expect(await readInputFile(alias, join(alias, "note.txt"))).toEqual(note);
    expect(await readInputFile(alias, join(inside, "note.txt"))).toEqual(note);
    writeFileSync(join(inside, "..dots.txt"), "A note.");
    expect(await readInputFile(alias, join(inside, "..dots.txt"))).toEqual(note);
  });

  it.each([
    ["UTF-8 with its mark", Buffer.from("\ufeffHé 字 😀"), "Hé 字 😀"],
    ["UTF-16, little end first", Buffer.from("\ufeffHé 字 😀", "utf16le"), "Hé 字 😀"],
    ["UTF-16, big end first", Buffer.from("\ufeffHé 字 😀", "utf16le").swap16(), "Hé 字 😀"],
    ["8 MiB to the byte", Buffer.alloc(8 * MIB, "a"), "a".repeat(8 * MIB)],
  ])("is decoded: %s", async (_, bytes, text) => {
    const { inside } = scene();
    writeFileSync(join(inside, "a.txt"), bytes);
    const read = await readInputFile(inside, "a.txt");
    expect("text" in read && read.text === text).toBe(true);
  });

  it.each([
    ["nothing", Buffer.alloc(0), /is empty/],
    [
      "Latin-1",
      Buffer.from("Un caf\u00e9, s\u00ed", "latin1"),
      /is not text in UTF-8; it seems to be in Latin-1/,
    ],
    ["Shift-JIS", Buffer.from("82b182ea82cd", "hex"), /is not text in UTF-8; it seems to be in Shift-JIS/],
    ["an unknown encoding", Buffer.from("cff0e8e2e5f2", "hex"), /is not text in UTF-8\. /],
    ["a NUL", Buffer.from("a\0b"), /holds NUL/],
    ["UTF-16 without its mark", Buffer.from("abc", "utf16le"), /holds NUL/],
    ["UTF-16 cut in half", Buffer.from("\ufeffabc", "utf16le").subarray(0, 7), /is not valid UTF-16/],
    ["half of a pair", Buffer.from([0xff, 0xfe, 0x00, 0xd8, 0x61, 0x00]), /is not valid UTF-16/],
    ["a picture", Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a]), /is not text in UTF-8/],
    ["one byte more than 8 MiB", Buffer.alloc(8 * MIB + 1, "a"), /is larger than 8 MiB/],
  ])("is refused when it contains %s", async (_, bytes, rule) => {
    const { inside } = scene();
    writeFileSync(join(inside, "a.txt"), bytes);
    const error = await refusal(inside, "a.txt");
    expect(error).toMatchObject({ code: "invalid_request" });
    expect(error.message).toMatch(rule);
    expect(error.message).toMatch(/^file "a\.txt" .*Nothing was sent\.$/);
  });

  it("is refused when it grows past 8 MiB while it is read", async () => {
    const { inside } = scene();
    const path = join(inside, "log.txt");
    writeFileSync(path, Buffer.alloc(8 * MIB - 1, "a"));
    let isReading = true;
    const grow = (async () => {
      for (let count = 0; count < 5_000 && isReading; count += 1) await appendFile(path, "bbbb");
    })();
    const error = await refusal(inside, "log.txt");
    isReading = false;
    await grow;
    expect(error.message).toMatch(/is larger than 8 MiB/);
  });
});

describe("the limit to the folder", () => {
  it.each(["/nowhere/at/all", "note.txt"])("allows no file if the folder is unusable: %s", async (name) => {
    const { inside } = scene();
    const error = await refusal(join(inside, name), "note.txt");
    expect(error.code).toBe("configuration_error");
    expect(error.message).toMatch(/AUDIO_INPUT_DIR is ".*", which is not a folder/);
  });

  it.each([
    ["a level up", () => "../private/secret.txt"],
    ["up and down again", () => "sub/../../private/secret.txt"],
    ["a whole path", ({ outside }: ReturnType<typeof scene>) => join(outside, "secret.txt")],
    ["a folder whose name begins alike", ({ inside }: ReturnType<typeof scene>) => `${inside}-more/a.txt`],
    ["the system's own", () => "/etc/motd.txt"],
    ["the folder itself", () => "."],
    ["the folder above", () => ".."],
    ["a home folder", () => "~/notes/../../../x.txt"],
  ])("refuses a path outside by its text alone: %s", async (_, fileOf) => {
    const places = scene();
    mkdirSync(`${places.inside}-more`);
    writeFileSync(`${places.inside}-more/a.txt`, SECRET);
    const error = await refusal(places.inside, fileOf(places));
    expect(error.code).toBe("invalid_request");
    expect(error.message).toMatch(/is outside of .*AUDIO_INPUT_DIR/);
  });

  it("does not reveal whether a file outside exists", async () => {
    const { inside } = scene();
    const rule = ({ message }: AudioError): string => message.replace(/^file "[^"]*"/, "");
    const there = await refusal(inside, "../private/secret.txt");
    expect(rule(await refusal(inside, "../private/nothing.txt"))).toBe(rule(there));
  });

  it("refuses links that lead out of the folder, at any level", async () => {
    const { inside, outside } = scene();
    symlinkSync(join(outside, "secret.txt"), join(inside, "a.txt"));
    symlinkSync("../private/secret.txt", join(inside, "b.txt"));
    symlinkSync(outside, join(inside, "door"));
    for (const file of ["a.txt", "b.txt", "door/secret.txt", "door/../private/secret.txt"]) {
      expect((await refusal(inside, file)).message).toMatch(/is outside of|does not exist/);
    }
  });

  it("refuses what is not a regular file, at once", async () => {
    const { inside } = scene();
    execFileSync("mkfifo", [join(inside, "pipe.txt")]);
    mkdirSync(join(inside, "folder.txt"));
    const server = createServer().listen(join(inside, "socket.txt"));
    await once(server, "listening");
    for (const file of ["pipe.txt", "folder.txt", "socket.txt"]) {
      expect((await refusal(inside, file)).message).toMatch(/is not a regular file/);
    }
    server.close();
  });

  it("refuses other kinds of files by their names, also behind a link", async () => {
    const { inside } = scene();
    writeFileSync(join(inside, ".env"), "KEY=1");
    writeFileSync(join(inside, "key.pem"), "x");
    symlinkSync(".env", join(inside, "env.txt"));
    for (const file of [".env", "key.pem", "note", "note.txt.", "env.txt", ".txt"]) {
      expect((await refusal(inside, file)).message).toMatch(/is no \.txt|that is no \.txt/);
    }
  });

  it.each([
    [
      "talk.ass",
      "[Script Info]\n",
      /"talk\.ass" is subtitles of SubStation Alpha, which is not read\. Files .*\.epub/,
    ],
    ["play.fountain", "INT. HOUSE\n", /"play\.fountain" is a screenplay in Fountain/],
    ["letter.RTF", "Hello", /is rich text/],
    ["letter.txt", "\ufeff{\\rtf1\\ansi Hello}", /"letter\.txt" is rich text \(RTF\)/],
    ["w.txt", Buffer.from("PK\x03\x04\x14\0\x06\0\xff", "latin1"), /is a ZIP file, as documents of Word are/],
    ["k.txt", Buffer.from(`${"\0".repeat(60)}BOOKMOBI\xff`, "latin1"), /"k\.txt" is a Kindle book/],
    ["paper.md", Buffer.from("%PDF-1.7\n%\xe2\xe3\0", "latin1"), /"paper\.md" is a PDF/],
  ])("refuses %s by its kind, and names the kinds that are read", async (file, content, words) => {
    const { inside } = scene();
    writeFileSync(join(inside, file), content);
    expect((await refusal(inside, file)).message).toMatch(words);
  });

  it("reads a text that mentions such a kind", async () => {
    const { inside } = scene();
    writeFileSync(join(inside, "formats.txt"), "A file of %PDF or {\\rtf begins so.");
    expect(await readInputFile(inside, "formats.txt")).toMatchObject({ format: "plain" });
  });

  it.each(["", "  ", "a\0.txt", "\ud800.txt"])("refuses an invalid path: %j", async (file) => {
    const { inside } = scene();
    expect((await refusal(inside, file)).message).toMatch(/is not a path of a file/);
  });

  it("lists the existing files if one is missing, and says why one cannot be read", async () => {
    const { inside } = scene();
    const missing = await refusal(inside, "nota.txt");
    expect(missing.message).toMatch(/"nota\.txt" does not exist/);
    expect(missing.remedy).toContain('"note.txt"');
    symlinkSync("loop.txt", join(inside, "loop.txt"));
    expect((await refusal(inside, "loop.txt")).message).toMatch(/loop of symbolic links/);
    expect((await refusal(inside, `${"a".repeat(300)}.txt`)).message).toMatch(/name that is too long/);
    writeFileSync(join(inside, "shut.txt"), "x", { mode: 0o000 });
    const shut = await asOrdinaryUser(() => refusal(inside, "shut.txt"));
    expect(shut.message).toMatch(/no permission/);
  });

  // The test needs a system that reports the path of an open file. On other systems, a folder that is swapped at each
  // check goes unnoticed.
  const noPaths = existsSync("/proc/self/fd")
    ? null
    : "the system does not tell what was opened (/proc/self/fd)";
  it(
    "reads no file outside, however folders are swapped for links meanwhile",
    skipBecause(noPaths),
    async () => {
      const { inside, outside } = scene();
      linkSync(join(outside, "secret.txt"), join(outside, "page.txt"));
      mkdirSync(join(inside, "swap"));
      writeFileSync(join(inside, "swap", "page.txt"), "A page.");
      symlinkSync(outside, join(inside, "link"));
      const [swap, link, away] = ["swap", "link", "away"].map((name) => join(inside, name));
      let isOver = false;
      let step = 1;
      // The pauses have different lengths, so that some swap happens between any two checks of `readInputFile`.
      const pause = async (): Promise<void> => {
        step = (step * 48271) % 2147483647;
        for (let turns = step % 24; turns > 0; turns -= 1) await turn();
      };
      const swapping = (async () => {
        while (!isOver) {
          renameSync(swap ?? "", away ?? "");
          renameSync(link ?? "", swap ?? "");
          await pause();
          renameSync(swap ?? "", link ?? "");
          renameSync(away ?? "", swap ?? "");
          await pause();
        }
      })();
      const seen = new Map<string, number>();
      // End the rounds after a minute, so that the test does not time out on a busy machine.
      const endsAtMs = performance.now() + 60_000;
      for (let round = 0; round < 1_500 && performance.now() < endsAtMs; round += 1) {
        const outcome = await readInputFile(inside, "swap/page.txt").then(
          (read) => ("text" in read ? read.text : ""),
          ({ message }: AudioError) => message.replaceAll(/.*(is outside|does not exist).*/g, "$1"),
        );
        seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
      }
      isOver = true;
      await swapping;
      expect([...seen.keys()]).not.toContain(SECRET);
      expect(seen.get("A page.")).toBeGreaterThan(10);
      expect(seen.get("is outside")).toBeGreaterThan(10);
    },
  );
});
