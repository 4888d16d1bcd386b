/**
 * Narrates a book with the built bin and the sandbox: the prices of its chapters, some chapters, then the whole book.
 * No chapter is paid for twice.
 */
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { packBook } from "../narration/books/packed-book.ts";
import { narrationOf } from "../narration/narrator.ts";
import { openClientAll, openFoldersAll, openSandboxAll } from "../support/e2e-setup.ts";
import { describeWithFfprobe } from "../support/ffprobe.ts";
import { noiseSpeech } from "../support/noise-speech.ts";
import { startToolClient } from "../support/tool-client.ts";
import { resultTextOf } from "../support/tool-result.ts";

const run = promisify(execFile);
const SCALE = 0.01;
const LONG_TIMEOUT_MS = 120_000;
const CHAPTERS = 6;
/** The number of paragraphs in each chapter of the book. All of them come from the first chapter of "Alice". */
const PARAGRAPHS = 3;

const ALICE = readFileSync(join(import.meta.dirname, "..", "..", "assets", "alice-chapter-1.md"), "utf8")
  .split(/\n\s*\n/)
  .map((paragraph) => paragraph.trim())
  .filter((paragraph) => /^[A-Z“]/.test(paragraph));

function book(): Uint8Array {
  const pages = Array.from({ length: CHAPTERS }, (_, index) => {
    const number = index + 1;
    const own = Array.from({ length: PARAGRAPHS }, (_, at) => ALICE[(index + at) % ALICE.length] ?? "");
    // Makes all parts different, because equal parts share one task.
    const paragraphs = own.map((text) => `<p>In part ${number}: ${text.replace(/[<&]/g, "")}</p>`);
    return {
      id: `chapter-${number}`,
      body: `<h2>Chapter ${number}. The fall, part ${number}</h2>${paragraphs.join("")}<aside epub:type="footnote">Note ${number}.</aside>`,
    };
  });
  const nav = { id: "nav", body: '<nav epub:type="toc"><ol><li>Contents</li></ol></nav>', properties: "nav" };
  const metadata = "<dc:title>Alice</dc:title><dc:creator>Lewis Carroll</dc:creator>";
  return packBook({ pages: [nav, ...pages], metadata });
}

const probed = z.object({
  format: z.object({ tags: z.record(z.string(), z.string()) }),
  chapters: z.array(z.object({ tags: z.object({ title: z.string() }) })),
});
async function tagsOf(path: string) {
  const show = ["-show_entries", "format_tags:chapter_tags", "-show_chapters", "-show_format", "-of", "json"];
  const { stdout } = await run("ffprobe", ["-v", "error", ...show, path]);
  const { format, chapters } = probed.parse(JSON.parse(stdout));
  return {
    title: format.tags["title"],
    artist: format.tags["artist"],
    album: format.tags["album"],
    track: format.tags["track"],
    chapters: chapters.map(({ tags }) => tags.title),
  };
}

const chaptersSchema = z.array(z.object({ number: z.int(), title: z.string(), credits: z.number() }));

describeWithFfprobe("a book", () => {
  const sandbox = openSandboxAll({ speech: noiseSpeech, processingSeconds: 0, timeScale: SCALE });
  const testFolders = openFoldersAll();
  const textsDir = (): string => join(testFolders.root, "texts");
  beforeAll(() => {
    mkdirSync(textsDir());
    writeFileSync(join(textsDir(), "alice.epub"), book());
  });
  const client = openClientAll(() =>
    startToolClient(
      testFolders.env(sandbox, { AUDIO_TIME_SCALE: String(SCALE), AUDIO_INPUT_DIR: textsDir() }),
    ),
  );

  const narrate = async (args: Record<string, unknown>) =>
    await client.call("narrate", { file: "alice.epub", wait_seconds: 100, ...args });
  const creditsOf = async (args: Record<string, unknown>): Promise<number> =>
    Number(narrationOf(await narrate(args)).credits.estimate);
  const titleOf = (number: number): string => `Chapter ${number}. The fall, part ${number}`;

  it("is planned free of charge: chapters with numbers and prices, and what is not spoken", async () => {
    const outcome = await narrate({});
    const chapters = chaptersSchema.parse(narrationOf(outcome).chapters);
    expect(chapters.map(({ number, title }) => ({ number, title }))).toEqual(
      Array.from({ length: CHAPTERS }, (_, index) => ({ number: index + 1, title: titleOf(index + 1) })),
    );
    expect(resultTextOf(outcome)).toContain(`3 ${JSON.stringify(titleOf(3))}`);
    expect(resultTextOf(outcome)).toContain('Not spoken: 6 footnotes ("Note 1.").');
    const [, , three, four, five] = chapters;
    const sum = (three?.credits ?? 0) + (four?.credits ?? 0) + (five?.credits ?? 0);
    expect(Math.abs((await creditsOf({ chapters: "3-5" })) - sum)).toBeLessThanOrEqual(2);
  });

  it(
    "is narrated from chapter 3 to 5, which are free in the whole book afterwards",
    async () => {
      const some = narrationOf(await narrate({ chapters: "3-5", max_credits: 100_000 }));
      expect(some).toMatchObject({ status: "finished" });
      expect(await tagsOf(some.files[0]?.path ?? "")).toEqual({
        title: "Alice, chapters 3 to 5",
        artist: "Lewis Carroll",
        chapters: [3, 4, 5].map(titleOf),
      });
      const plan = narrationOf(await narrate({}));
      expect(plan.parts).toMatchObject({ already_paid: some.parts.total });
      const all = narrationOf(await narrate({ max_credits: 100_000 }));
      expect(await tagsOf(all.files[0]?.path ?? "")).toMatchObject({
        title: "Alice",
        chapters: [1, 2, 3, 4, 5, 6].map(titleOf),
      });
      // After the whole book is paid for, a selection of its chapters is free.
      const last = narrationOf(await narrate({ chapters: "1-2", max_credits: 100_000 }));
      expect(last.credits.charged).toBe(0);
    },
    LONG_TIMEOUT_MS,
  );

  it(
    "names files of chapters by their numbers in the book",
    async () => {
      const done = narrationOf(
        await narrate({ chapters: "4-5", files: "chapters", file_name: "alice", max_credits: 100_000 }),
      );
      expect(done.credits.charged).toBe(0);
      expect(done.files.map(({ path }) => basename(path))).toEqual([
        "alice-04-Chapter-4-The-fall-part-4.mp3",
        "alice-05-Chapter-5-The-fall-part-5.mp3",
      ]);
      const [first] = done.files;
      expect(await tagsOf(first?.path ?? "")).toMatchObject({
        title: titleOf(4),
        artist: "Lewis Carroll",
        album: "Alice",
        track: `4/${CHAPTERS}`,
      });
    },
    LONG_TIMEOUT_MS,
  );
});
