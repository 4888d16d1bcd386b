/**
 * A narration of a file with the built bin: which files the input folder allows, and which answers name
 * `AUDIO_INPUT_DIR`.
 */
import { execFile } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { PART_BYTES } from "../narration/narrator.ts";
import { BIN, FAST, NODE, NODE_FLAGS } from "../support/bin-under-test.ts";
import { openClientAll, openFoldersAll, openServiceAll } from "../support/e2e-setup.ts";
import { runCommand } from "../support/run-command.ts";
import { startToolClient } from "../support/tool-client.ts";
import { errorOf, resultTextOf, type ToolOutcome } from "../support/tool-result.ts";

const run = promisify(execFile);
const BOOK = "# One\n\nIt is late.\n\n```sh\nls\n```\n\n# Two\n\nGood night.\n";

const planned = z.object({
  status: z.literal("planned"),
  parts: z.object({ total: z.number() }),
  credits: z.object({ estimate: z.number() }),
});
const planOf = (outcome: ToolOutcome) => planned.parse(outcome.structuredContent);

describe("narrate with a file", () => {
  const service = openServiceAll({ audioBytes: PART_BYTES, audioSeconds: 4 });
  const testFolders = openFoldersAll();
  let texts: string;
  beforeAll(() => {
    texts = join(testFolders.root, "texts");
    mkdirSync(texts);
    writeFileSync(join(texts, "book.md"), BOOK);
    writeFileSync(join(testFolders.root, "diary.txt"), "Dear diary.");
    symlinkSync(join(testFolders.root, "diary.txt"), join(texts, "diary.txt"));
  });
  const client = openClientAll(() =>
    startToolClient(testFolders.env(service, { ...FAST, AUDIO_INPUT_DIR: texts })),
  );

  it("plans it free of charge, and says what will not be spoken", async () => {
    const outcome = await client.call("narrate", { file: "book.md" });
    expect(planOf(outcome)).toMatchObject({ parts: { total: 2 }, credits: { estimate: 20 } });
    expect(resultTextOf(outcome)).toContain(
      'Chapters with length and credits: 1 "One" 3 s, 10; 2 "Two" 1 s, 10. The argument chapters narrates some of them: "1".',
    );
    expect(outcome.structuredContent).toMatchObject({
      chapters: [
        { title: "One", seconds: 3, credits: 10 },
        { title: "Two", seconds: 1, credits: 10 },
      ],
    });
    expect(resultTextOf(outcome)).toMatch(/Not spoken: a block of code \("ls"\)/);
    expect(service.tasks.size).toBe(0);
  });

  it("accepts settings of a speaker after the voice, and refuses those out of bounds before planning", async () => {
    const text = "ANNA: Good night, and sleep well, all of you.";
    const secondsOf = async (line: string): Promise<unknown> =>
      z
        .looseObject({ seconds: z.object({ estimate: z.number() }) })
        .parse((await client.call("narrate", { text, voices: [line] })).structuredContent).seconds.estimate;
    expect(await secondsOf("ANNA: opal_en_zh speed 0.5 pitch -2")).toBe(5);
    expect(await secondsOf("ANNA: opal_en_zh")).toBe(3);
    const refused = await client.call("narrate", { text, voices: ["ANNA: opal_en_zh speed 9"] });
    expect(resultTextOf(refused)).toContain('has "ANNA: opal_en_zh speed 9": speed must be');
    expect(service.tasks.size).toBe(0);
  });

  it("is the same narration as its text", async () => {
    const ids = await Promise.all(
      [{ file: "book.md" }, { file: join(texts, "book.md") }, { text: BOOK }].map(
        async (source) => (await client.call("narrate", source)).structuredContent?.["narration_id"],
      ),
    );
    expect(new Set(ids).size).toBe(1);
  });

  it.each(["../diary.txt", "diary.txt", "/etc/hostname.txt"])("reads none outside: %s", async (file) => {
    const outcome = await client.call("narrate", { file, max_credits: 1000 });
    expect(errorOf(outcome)).toMatchObject({ code: "invalid_request" });
    expect(resultTextOf(outcome)).toMatch(/outside of .*texts.*AUDIO_INPUT_DIR/);
    expect(resultTextOf(outcome)).not.toContain("Dear diary");
    expect(service.tasks.size).toBe(0);
  });

  it("lists the existing files if an assistant guessed a name", async () => {
    const outcome = await client.call("narrate", { file: "boook.md" });
    expect(resultTextOf(outcome)).toMatch(/"boook\.md" does not exist[\s\S]*"book\.md"/);
  });

  it("names the setting if there is no folder", async () => {
    const bare = await startToolClient(testFolders.env(service, FAST));
    const outcome = await bare.call("narrate", { file: "book.md" });
    await bare.close();
    expect(errorOf(outcome)).toMatchObject({ code: "configuration_error" });
    expect(resultTextOf(outcome)).toMatch(/AUDIO_INPUT_DIR is not set/);
  });

  it("is checked by doctor", async () => {
    const doctor = async (folder: string): Promise<string> => {
      const env = testFolders.env(service, { ...FAST, AUDIO_INPUT_DIR: folder });
      return (await runCommand(["doctor"], env)).stdout;
    };
    expect(await doctor(texts)).toMatch(/✓ input folder: .*"book\.md"/);
    expect(await doctor(join(texts, "gone"))).toMatch(/✗ input folder: .*not a folder that can be read/);
    expect(await doctor("texts")).toMatch(/✗ setting AUDIO_INPUT_DIR: .*not an absolute path/);
  });

  it("may be any file or a pipe on the command line", async () => {
    const env = testFolders.env(service, FAST);
    const ask = async (file: string, input = ""): Promise<unknown> => {
      const command = run(NODE, [...NODE_FLAGS, BIN, "narrate", file, "--json"], { env });
      command.child.stdin?.end(input);
      return planned.parse(JSON.parse((await command).stdout)).parts.total;
    };
    expect(await ask(join(testFolders.root, "diary.txt"))).toBe(1);
    expect(await ask("-", BOOK)).toBe(2);
    writeFileSync(
      join(testFolders.root, "lines.tsv"),
      "text\tfile\nHalt!\tguard\nGood night.\tcook\nGo.\t\n",
    );
    expect(await ask(join(testFolders.root, "lines.tsv"))).toBe(3);
  });

  it("repeated on the command line says that nothing new was charged", async () => {
    const env = testFolders.env(service, FAST);
    const ask = async (...more: string[]): Promise<string> => {
      const file = join(testFolders.root, "diary.txt");
      const options = ["--output-format", "pcm", ...more];
      return (await runCommand(["narrate", file, ...options], env)).stdout;
    };
    const first = await ask("--max-credits", "300");
    expect(first).toMatch(/^\/.*\.pcm\n.* of audio\. Cost 10 credits in all\.\n$/s);
    for (const again of [await ask("--max-credits", "300"), await ask()]) {
      expect(again).toMatch(/ of audio\. Cost 10 credits in all \(nothing for this call\)\.\n$/);
      expect(again.split("\n")[0]).toBe(first.split("\n")[0]);
    }
    expect(service.tasks.size).toBe(1);
  });

  it("that was stopped and is only queried on the command line is a plan, and exits with 0", async () => {
    const env = testFolders.env(service, FAST);
    writeFileSync(join(testFolders.root, "letter.txt"), "Dear Ana, it is late.");
    const ask = (...more: string[]) =>
      runCommand(["narrate", join(testFolders.root, "letter.txt"), ...more], env);
    for (const asked of ["the first time", "again"])
      expect(await ask("--max-credits", "1"), asked).toMatchObject({ code: 3 });
    expect(await ask()).toMatchObject({ code: 0 });
    expect((await ask()).stdout).toMatch(/^Stopped: 0 of 1 part saved.*With --max-credits \d+ it goes on/s);
  });

  it("is decoded just as strictly on the command line", async () => {
    const env = testFolders.env(service, FAST);
    writeFileSync(join(testFolders.root, "latin.txt"), Buffer.from("caf\u00e9", "latin1"));
    writeFileSync(join(testFolders.root, "wide.txt"), Buffer.from("\ufeffGood night.", "utf16le"));
    const ask = (file: string) => runCommand(["narrate", join(testFolders.root, file), "--json"], env);
    expect(await ask("latin.txt")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("is not text in UTF-8"),
    });
    writeFileSync(join(testFolders.root, "styled.ass"), "[Script Info]\nTitle: x\n");
    writeFileSync(join(testFolders.root, "notes.log"), "It is late.");
    expect(await ask("styled.ass")).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /is subtitles of SubStation Alpha, which is not read\. .*\.epub\. Nothing was sent/,
      ),
    });
    expect(planned.parse(JSON.parse((await ask("notes.log")).stdout)).parts.total).toBe(1);
    expect(planned.parse(JSON.parse((await ask("wide.txt")).stdout)).parts.total).toBe(1);
  });
});
