/** How a task is read a little differently from others of the same request, as every take of a real service is. */
import { createHash } from "node:crypto";
import type { Rendition } from "../speech/speech.ts";

const PACE_SPREAD = 0.03;
const PITCH_SPREAD_SEMITONES = 0.3;

/** From -1 to 1. */
const spread = (digest: Buffer, offset: number): number =>
  (digest.readUInt32BE(offset) / 0xffff_ffff) * 2 - 1;

/** By a hash of the id. */
export function renditionOf(taskId: string): Rendition {
  const digest = createHash("sha256").update(`rendition of ${taskId}`).digest();
  return {
    pace: 1 + PACE_SPREAD * spread(digest, 0),
    semitones: PITCH_SPREAD_SEMITONES * spread(digest, 4),
  };
}
