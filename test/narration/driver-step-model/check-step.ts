/** Checks the promises that each step of a narration keeps, without the code that decides the step. */
import type {
  DriverStep,
  FileProgress,
  NarrationProgress,
  PartState,
} from "../../../src/narration/driving/driver-step.ts";

/** A broken promise; its message is the promise's name. */
export class Violation extends Error {
  override readonly name = "Violation";
}

const MAX_AT_ONCE = 3;

function demand(isKept: boolean, promise: string): void {
  if (!isKept) throw new Violation(promise);
}

const statesOf = ({ partStates }: NarrationProgress, file: FileProgress): PartState[] =>
  file.partIndexes.map((part) => partStates[part] ?? "to_do");

const isDone = (state: PartState): boolean => state === "saved" || state === "skipped";

const isComplete = (progress: NarrationProgress, file: FileProgress): boolean => {
  const states = statesOf(progress, file);
  return states.every(isDone) && states.includes("saved");
};

const indexesOf = ({ partStates }: NarrationProgress, wanted: PartState): number[] =>
  partStates.flatMap((state, index) => (state === wanted ? [index] : []));

/** Returns the parts in a state that may start, because neither they nor equal parts are running. */
const beginnable = (progress: NarrationProgress, state: PartState): number[] => {
  const atWork = new Set(
    indexesOf(progress, "working").map((index) => progress.firstEqualPartIndexes[index]),
  );
  return indexesOf(progress, state).filter((index) => !atWork.has(progress.firstEqualPartIndexes[index]));
};

/** Returns whether any part may start now. */
function canWork(progress: NarrationProgress): boolean {
  if (indexesOf(progress, "working").length >= MAX_AT_ONCE) return false;
  if (beginnable(progress, "sent").length > 0) return true;
  const isHeld = progress.hasStoppedSubmitting || progress.hasUnacceptedPart || progress.isOutOfCredits;
  return !isHeld && beginnable(progress, "to_do").length > 0;
}

function checkMakePart(progress: NarrationProgress, part: number): void {
  const state = progress.partStates[part];
  demand(state === "to_do" || state === "sent", "only what is open or sent is begun");
  demand(indexesOf(progress, "working").length < MAX_AT_ONCE, "at most three are at work");
  const equals = progress.firstEqualPartIndexes.flatMap((first, index) =>
    first === progress.firstEqualPartIndexes[part] ? [index] : [],
  );
  demand(
    equals.every((index) => progress.partStates[index] !== "working"),
    "no two equal parts are at work",
  );
  demand(
    equals.every((index) => progress.partStates[index] !== "saved"),
    "what is saved is not made again under another number",
  );
  if (state === "sent") return;
  demand(!progress.hasStoppedSubmitting, "nothing is begun that was halted");
  demand(!progress.isOutOfCredits, "nothing is begun that has no room");
  demand(!progress.hasUnacceptedPart, "nothing overtakes a part that is not sent yet");
  demand(beginnable(progress, "sent").length === 0, "what was sent comes first");
  demand(beginnable(progress, "to_do")[0] === part, "parts begin in reading order");
}

function checkJoin(progress: NarrationProgress, step: Extract<DriverStep, { kind: "join" }>): void {
  const file = progress.files[step.fileIndex];
  if (file === undefined) throw new Violation("there is such a file");
  const saved = file.partIndexes.filter((part) => progress.partStates[part] === "saved");
  demand(
    JSON.stringify(saved) === JSON.stringify(step.partIndexes),
    "a file holds its saved parts, in order",
  );
  demand(saved.length > 0, "a file holds a part");
  demand(step.isComplete === isComplete(progress, file), "only a complete file is called whole");
  const mayBe = step.isComplete ? [null, "incomplete"] : [null];
  demand(mayBe.includes(file.joinResult), "a file is joined once");
  if (step.isComplete) return;
  demand(indexesOf(progress, "working").length === 0, "an incomplete file waits for what is at work");
  demand(!canWork(progress), "an incomplete file is made at the end alone");
}

const isWaiting = (progress: NarrationProgress, file: FileProgress): boolean =>
  (file.joinResult === null || file.joinResult === "incomplete") && isComplete(progress, file);

function checkWait(progress: NarrationProgress): void {
  demand(indexesOf(progress, "working").length > 0, "it waits for something");
  demand(!canWork(progress), "it does not wait while it could begin a part");
}

function checkEnd(progress: NarrationProgress, isWhole: boolean): void {
  const { files } = progress;
  demand(indexesOf(progress, "working").length === 0, "it does not end while a part is at work");
  demand(indexesOf(progress, "sent").length === 0, "it does not end while a part is with the service");
  demand(
    progress.hasStoppedSubmitting || indexesOf(progress, "to_do").length === 0,
    "it does not end while a part can be made",
  );
  const isMade = (file: FileProgress): boolean =>
    file.joinResult !== null || !statesOf(progress, file).includes("saved");
  demand(files.every(isMade), "it does not end before what is saved is in a file");
  const isAll = files.every(
    (file) =>
      file.joinResult === "complete" || statesOf(progress, file).every((state) => state === "skipped"),
  );
  demand(isWhole === isAll, "it is finished when all its files are whole");
}

/** @throws Violation with the name of the rule that the step breaks */
export function checkStep(progress: NarrationProgress, step: DriverStep): void {
  if (step.kind === "run_part") checkMakePart(progress, step.partIndex);
  else if (step.kind === "join") checkJoin(progress, step);
  else {
    const waiting = progress.files.filter((file) => isWaiting(progress, file));
    demand(waiting.length === 0, "a file is joined as soon as it is complete");
    if (step.kind === "end") checkEnd(progress, step.isComplete);
    else checkWait(progress);
  }
}
