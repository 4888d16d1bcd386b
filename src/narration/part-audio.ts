/** The audio of one part, on this machine. */
import type { SavedPart } from "../generation/use-cases/generate-part.ts";

export interface PartAudio extends SavedPart {
  /** Index of the part in the plan. */
  readonly index: number;
}
