/** Varies the speech of each task slightly, because takes of the real service differ for the same request. */
import { createHash } from "node:crypto";
import type { SpeechVariation } from "../speech/speech.ts";

const TEMPO_SPREAD = 0.03;
const PITCH_SPREAD_SEMITONES = 0.3;

/** Converts four bytes of a digest to a number from -1 to 1. */
const computeSpread = (digest: Buffer, offset: number): number =>
  (digest.readUInt32BE(offset) / 0xffff_ffff) * 2 - 1;

/** Derives the variation from the task's id, so that it is fixed for each task. */
export function deriveVariation(taskId: string): SpeechVariation {
  const digest = createHash("sha256").update(`rendition of ${taskId}`).digest();
  return {
    tempo: 1 + TEMPO_SPREAD * computeSpread(digest, 0),
    semitones: PITCH_SPREAD_SEMITONES * computeSpread(digest, 4),
  };
}
