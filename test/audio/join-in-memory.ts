/** Joins parts that a test holds in memory. Writes them to files first, because the program joins files. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { joinAudio } from "../../src/audio/join.ts";
import type { JoinedAudio, JoinPart, JoinRequest, TextTags } from "../../src/audio/join-request.ts";
import type { OutputFormat } from "../../src/contract/audio-format.ts";
import { scratchFolder } from "../support/scratch.ts";

export interface TestPart extends Partial<Omit<JoinPart, "path">> {
  readonly bytes: Uint8Array;
}

/** Writes the parts to files in a scratch folder of the running test. */
export function partFiles(parts: readonly TestPart[]): JoinPart[] {
  const folder = scratchFolder();
  return parts.map(({ bytes, durationSeconds, sampleRateHz, pauseAfterSeconds, startSeconds }, index) => {
    const path = join(folder, `part-${index}`);
    writeFileSync(path, bytes);
    return {
      path,
      durationSeconds: durationSeconds ?? 0,
      sampleRateHz: sampleRateHz ?? 0,
      pauseAfterSeconds: pauseAfterSeconds ?? 0,
      startSeconds,
    };
  });
}

/** Joins the parts. Also returns the bytes of the joined file. */
export async function joined(
  format: OutputFormat,
  parts: readonly TestPart[],
  more: Partial<Pick<JoinRequest, "chapters" | keyof TextTags>> = {},
): Promise<JoinedAudio & { readonly bytes: Buffer }> {
  const blocks: Buffer[] = [];
  const result = await joinAudio({
    format,
    parts: partFiles(parts),
    chapters: [],
    ...more,
    // `joinAudio` reuses its buffer, so the bytes are copied.
    write: async (bytes) => void blocks.push(Buffer.from(bytes)),
  });
  return { ...result, bytes: Buffer.concat(blocks) };
}
