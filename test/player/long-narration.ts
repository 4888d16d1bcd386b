/**
 * Puts an hour of sound into the ledger of a running server: real speech, joined repeatedly, as the file of a
 * finished narration.
 */
import { createHash } from "node:crypto";
import { open, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { joinAudio } from "../../src/audio/join.ts";
import type { JoinedAudio } from "../../src/audio/join-request.ts";
import type { OutputFormat } from "../../src/contract/audio-format.ts";
import { FILE_EXTENSIONS } from "../../src/contract/audio-format.ts";
import { COPY_FILE_ROW_SQL, DELETE_MADE_FILES_SQL } from "../support/ledger-rows.ts";
import type { ServerUnderTest } from "./server-under-test.ts";

const SENTENCES = [
  "The harbour lay quiet before the first ferry.",
  "Somebody whistled, far out, among nets & ropes.",
  "A kettle began to sing below deck.",
  "Then the gulls came down all at once, and the day had begun.",
];

const saved = z.object({ audio: z.object({ path: z.string() }), audio_seconds: z.number() });

export interface Joined extends JoinedAudio {
  readonly path: string;
}

/** Makes a file of speech, repeated until it has at least the given duration. */
export async function joinLong(
  server: ServerUnderTest,
  format: OutputFormat,
  seconds: number,
  name = `long${FILE_EXTENSIONS[format]}`,
): Promise<Joined> {
  const createResult = await server.call("generate_audio", {
    prompt: SENTENCES.join(" "),
    output_format: format,
  });
  const { audio, audio_seconds: once } = saved.parse(createResult.structuredContent);
  const part = { path: audio.path, durationSeconds: once, sampleRateHz: 24_000, pauseAfterSeconds: 0.4 };
  const count = Math.ceil(seconds / (once + 0.4));
  const parts = Array.from({ length: count }, () => part);
  const chapters = [0, 0.25, 0.5, 0.75].map((share, index) => ({
    title: `Chapter ${index + 1}`,
    firstPart: Math.floor(count * share),
  }));
  const path = join(server.testFolders.outputDir, name);
  const file = await open(path, "w");
  const joined = await joinAudio({
    format,
    title: "Long",
    parts,
    chapters,
    write: async (bytes) => void (await file.write(bytes)),
  });
  await file.close();
  return { ...joined, path };
}

const stamp = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(11, 23);

/** Puts a file in the place of a finished narration's, with captions and chapters. Returns the narration's id. */
export async function asNarration(server: ServerUnderTest, joined: Joined): Promise<string> {
  const finished = await server.call("narrate", {
    text: `# Quiet\n\nA text of its own for ${joined.path}.`,
    max_credits: 1000,
    wait_seconds: 60,
  });
  const { narration_id: narrationId } = z
    .object({ narration_id: z.string(), status: z.literal("finished") })
    .parse(finished.structuredContent);
  const stem = joined.path.replace(/\.[^.]*$/, "");
  const cues = joined.parts.map(
    ({ startSeconds, endSeconds }, index) =>
      `${index + 1}\n${stamp(startSeconds)} --> ${stamp(endSeconds)}\n${index + 1}. ${SENTENCES[index % SENTENCES.length]?.replace("&", "&amp;")}`,
  );
  await writeFile(`${stem}.vtt`, `WEBVTT\n\n${cues.join("\n\n")}\n`);
  const chapters = joined.chapters.map(({ title, startSeconds }) => ({ startTime: startSeconds, title }));
  await writeFile(`${stem}.chapters.json`, JSON.stringify({ version: "1.2.0", chapters }));
  const folders = await readdir(server.testFolders.stateDir);
  const folder = folders.find((name) => name.startsWith("sandbox-")) ?? "";
  const database = new DatabaseSync(join(server.testFolders.stateDir, folder, "ledger.sqlite"), {
    timeout: 10_000,
  });
  for (const [kind, path] of [
    ["audio", joined.path],
    ["captions", `${stem}.vtt`],
    ["chapters", `${stem}.chapters.json`],
  ] as const) {
    const sha256 = createHash("sha256")
      .update(await readFile(path))
      .digest("hex");
    const sizeBytes = (await stat(path)).size;
    database
      .prepare(COPY_FILE_ROW_SQL)
      .run(kind, path, sizeBytes, sha256, joined.durationSeconds, narrationId);
  }
  database.prepare(DELETE_MADE_FILES_SQL).run(narrationId, `${stem}.%`);
  database.close();
  return narrationId;
}
