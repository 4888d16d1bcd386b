/** What a narration asks of the workflow for one of its parts. */

import type { PartCall, PartRequest, SavedPart } from "../generation/use-cases/generate-part.ts";
import type { TaskRecord } from "../ledger/record.ts";

export interface PartWork {
  /** What the ledger knows of it; `null`: nobody has asked for it. */
  find(request: PartRequest): Promise<TaskRecord | null>;
  /** See `generatePart`. */
  generate(request: PartRequest, call: PartCall): Promise<SavedPart>;
  /** See `finishPart`. */
  finish(request: PartRequest, call: PartCall): Promise<void>;
}
