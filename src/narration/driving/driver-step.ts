/** Decides what a narration's driver does next. Pure, so that tests can check every state. */

export type PartState =
  /** The part is new, its last task failed, its audio is gone, or the driver has stopped waiting for its task. */
  | "to_do"
  /** The part's submission was sent, but this process does not wait for the task. */
  | "sent"
  /** This process submits the part or waits for its task. */
  | "working"
  | "saved"
  /** The part failed for good. Its file cannot be complete without it. */
  | "failed"
  /** The part failed, and the caller asked to leave it out. */
  | "skipped";

/** The progress of one file, which contains the whole narration or one chapter. */
export interface FileProgress {
  /** Indexes of the file's parts in the plan, in reading order. */
  readonly partIndexes: readonly number[];
  /**
   * How joining the file went, if it was tried since the last inspection of the parts. `incomplete`: the file was
   * joined without some of its parts. `null`: joining was not tried.
   */
  readonly joinResult: "complete" | "incomplete" | "failed" | null;
}

export interface NarrationProgress {
  readonly partStates: readonly PartState[];
  /** For each part, the index of the first part with the same text, settings and take. Equal parts share one task. */
  readonly firstEqualPartIndexes: readonly number[];
  readonly files: readonly FileProgress[];
  /** Whether no submission may be sent, because the narration was stopped or an error prevents it. */
  readonly hasStoppedSubmitting: boolean;
  /**
   * Whether the service has not accepted the submission of a started part yet. Until it has, no other part starts.
   * Otherwise, a later part could get the credits that an earlier part waits for.
   */
  readonly hasUnacceptedPart: boolean;
  /** Whether `max_credits` or the budget leaves no credits for another submission until a running part ends. */
  readonly isOutOfCredits: boolean;
}

export type DriverStep =
  /** Creates the part, or waits for it if its submission was sent. */
  | { readonly kind: "run_part"; readonly partIndex: number }
  | {
      readonly kind: "join";
      readonly fileIndex: number;
      readonly partIndexes: readonly number[];
      readonly isComplete: boolean;
    }
  /** Waits until a part ends, or a call changes the narration. */
  | { readonly kind: "wait" }
  | { readonly kind: "end"; readonly isComplete: boolean };

/**
 * Maximum number of parts on which this process works at a time. The service runs two tasks at a time, and a third part
 * waits for the next free concurrency slot.
 */
const MAX_PARTS_IN_PROGRESS = 3;

/**
 * Decides what the driver does next. Parts whose submissions were sent come first, because their credits are reserved.
 * The other parts start in reading order, so that an unfinished narration has the beginning of the text. If no part can
 * start now, a file whose parts are all saved or skipped is joined. If no part is in progress any more, the other files
 * are joined from their saved parts.
 */
export function decideDriverStep(progress: NarrationProgress): DriverStep {
  const { partStates, files } = progress;
  const workingCount = partStates.filter((state) => state === "working").length;
  const partIndex = workingCount < MAX_PARTS_IN_PROGRESS ? findNextPartIndex(progress) : -1;
  if (partIndex !== -1) return { kind: "run_part", partIndex };
  const completeFileIndex = files.findIndex(
    ({ joinResult, ...file }) =>
      (joinResult === null || joinResult === "incomplete") && hasAllParts(file, partStates),
  );
  if (completeFileIndex !== -1) return joinStep(progress, completeFileIndex, true);
  if (workingCount > 0) return { kind: "wait" };
  const incompleteFileIndex = files.findIndex(
    (file) => file.joinResult === null && hasSaved(file, partStates),
  );
  if (incompleteFileIndex !== -1) return joinStep(progress, incompleteFileIndex, false);
  return {
    kind: "end",
    isComplete: files.every((file) => file.joinResult === "complete" || isSkipped(file, partStates)),
  };
}

/** Returns the index of the part that starts next; -1 if none can start now. */
function findNextPartIndex({
  partStates,
  firstEqualPartIndexes,
  hasStoppedSubmitting,
  hasUnacceptedPart,
  isOutOfCredits,
}: NarrationProgress): number {
  const workingPartIndexes = new Set(
    partStates.flatMap((state, index) => (state === "working" ? [firstEqualPartIndexes[index]] : [])),
  );
  const findFirstIndex = (wanted: PartState): number =>
    partStates.findIndex(
      (state, index) => state === wanted && !workingPartIndexes.has(firstEqualPartIndexes[index]),
    );
  const sentPartIndex = findFirstIndex("sent");
  const mayBeginNew = !hasStoppedSubmitting && !hasUnacceptedPart && !isOutOfCredits;
  return sentPartIndex !== -1 || !mayBeginNew ? sentPartIndex : findFirstIndex("to_do");
}

const hasSaved = (file: Pick<FileProgress, "partIndexes">, partStates: readonly PartState[]): boolean =>
  file.partIndexes.some((part) => partStates[part] === "saved");

const isSkipped = (file: Pick<FileProgress, "partIndexes">, partStates: readonly PartState[]): boolean =>
  file.partIndexes.every((part) => partStates[part] === "skipped");

const hasAllParts = (file: Pick<FileProgress, "partIndexes">, partStates: readonly PartState[]): boolean =>
  hasSaved(file, partStates) &&
  file.partIndexes.every((part) => partStates[part] === "saved" || partStates[part] === "skipped");

const joinStep = (
  { files, partStates }: NarrationProgress,
  fileIndex: number,
  isComplete: boolean,
): DriverStep => ({
  kind: "join",
  fileIndex,
  partIndexes: files[fileIndex]?.partIndexes.filter((part) => partStates[part] === "saved") ?? [],
  isComplete,
});
