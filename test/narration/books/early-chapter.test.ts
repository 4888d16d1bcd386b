/** A chapter of a book can be played while the next one is being made. */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { describeWithFfprobe } from "../../support/ffprobe.ts";
import { Narrator, PART_BYTES, paragraph } from "../narrator.ts";
import { packBook } from "./packed-book.ts";

const run = promisify(execFile);

/** Returns the length of raw sound in seconds. States the format, because raw sound has no header. */
async function secondsOf(path: string): Promise<number> {
  const shown = ["-show_entries", "format=duration", "-of", "csv=p=0"];
  const { stdout } = await run("ffprobe", ["-v", "error", "-f", "s16le", "-ar", "24000", ...shown, path]);
  return Number(stdout);
}

describeWithFfprobe("a chapter of a book", () => {
  it("plays while the next one is made", async () => {
    const processingMsOf = (prompt: string): number => (prompt.includes("Two begins") ? 60_000 : 20);
    const narrator = await Narrator.start({}, { processingMsOf });
    const folder = await narrator.openTexts();
    const pages = ["One", "Two"].map((name) => ({
      id: name,
      body: `<h1>Chapter ${name}</h1><p>${paragraph(name)}</p>`,
    }));
    writeFileSync(join(folder, "book.epub"), packBook({ pages }));
    const args = { file: "book.epub", files: "chapters", max_credits: 5000, wait_seconds: 0 };
    const { narration_id } = await narrator.narrate(args);
    const poll = async () => await narrator.narrate({ narration_id, wait_seconds: 0 });
    await expect.poll(async () => (await poll()).files.length, { timeout: 60_000 }).toBe(1);
    const { status, files } = await poll();
    expect(status).toBe("running");
    expect(files).toMatchObject([{ chapter: "Chapter One", size_bytes: expect.any(Number) }]);
    expect(await secondsOf(files[0]?.path ?? "")).toBeCloseTo(PART_BYTES / 48_000, 1);
    for (const task of narrator.service.tasks.values()) task.status = "succeeded";
    await expect.poll(async () => (await poll()).status, { timeout: 60_000 }).toBe("finished");
    expect((await poll()).files.map(({ chapter }) => chapter)).toEqual(["Chapter One", "Chapter Two"]);
    await narrator.stop();
  });
});
