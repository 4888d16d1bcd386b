/** Decides what a narration's driver does next. Pure, so that tests can check every state. */

export type PartState =
  /** Nothing is under way for it. */
  | "open"
  /** The service may have taken it, and this process is not at it. */
  | "sent"
  /** This process is at it. */
  | "working"
  | "saved"
  /** It was given up, and the whole file needs it. */
  | "failed"
  /** It is left out, because the caller asked for that. */
  | "skipped";

/** One file of the narration: all of it, or one chapter. */
export interface FileProgress {
  /** Indexes of its parts in the plan, in reading order. */
  readonly parts: readonly number[];
  /** The result of joining since the last look at the parts; a file without all its parts is `incomplete`. */
  readonly made: "whole" | "incomplete" | "failed" | null;
}

export interface Progress {
  readonly parts: readonly PartState[];
  /** For each part, the first part with the same text, settings and take; both are one task. */
  readonly firstEqual: readonly number[];
  readonly files: readonly FileProgress[];
  /** Nothing may be created: the narration was stopped, or something is in the way. */
  readonly isHalted: boolean;
  /** A part that was begun is not sent yet: the next one might overtake it. */
  readonly isUnsent: boolean;
  /** No create is within the limit until a part that runs has ended. */
  readonly isFull: boolean;
}

export type Step =
  /** Creates the part, or sees it through where it was sent. */
  | { readonly kind: "work"; readonly part: number }
  | {
      readonly kind: "join";
      readonly file: number;
      readonly parts: readonly number[];
      readonly isWhole: boolean;
    }
  /** Until a part ends, or somebody changes the narration. */
  | { readonly kind: "wait" }
  | { readonly kind: "end"; readonly isWhole: boolean };

/** The service runs two tasks of an account at a time; a third part waits for the next free place. */
const PARTS_AT_ONCE = 3;

/**
 * Parts that were sent come first, because their credits are held already. All others begin in reading order, so what
 * is paid for is the beginning of the text. A file is joined as soon as its parts are there.
 */
export function nextStep(progress: Progress): Step {
  const { parts, files } = progress;
  const workingParts = parts.filter((state) => state === "working").length;
  const part = workingParts < PARTS_AT_ONCE ? nextPart(progress) : -1;
  if (part !== -1) return { kind: "work", part };
  const whole = files.findIndex(
    ({ made, ...file }) => (made === null || made === "incomplete") && isComplete(file, parts),
  );
  if (whole !== -1) return joinStep(progress, whole, true);
  if (workingParts > 0) return { kind: "wait" };
  const incomplete = files.findIndex((file) => file.made === null && hasSaved(file, parts));
  if (incomplete !== -1) return joinStep(progress, incomplete, false);
  return { kind: "end", isWhole: files.every((file) => file.made === "whole" || isSkipped(file, parts)) };
}

function nextPart({ parts, firstEqual, isHalted, isUnsent, isFull }: Progress): number {
  const atWork = new Set(parts.flatMap((state, index) => (state === "working" ? [firstEqual[index]] : [])));
  const first = (wanted: PartState): number =>
    parts.findIndex((state, index) => state === wanted && !atWork.has(firstEqual[index]));
  const sent = first("sent");
  return sent !== -1 || isHalted || isUnsent || isFull ? sent : first("open");
}

const hasSaved = (file: Pick<FileProgress, "parts">, parts: readonly PartState[]): boolean =>
  file.parts.some((part) => parts[part] === "saved");

const isSkipped = (file: Pick<FileProgress, "parts">, parts: readonly PartState[]): boolean =>
  file.parts.every((part) => parts[part] === "skipped");

const isComplete = (file: Pick<FileProgress, "parts">, parts: readonly PartState[]): boolean =>
  hasSaved(file, parts) && file.parts.every((part) => parts[part] === "saved" || parts[part] === "skipped");

const joinStep = ({ files, parts }: Progress, file: number, isWhole: boolean): Step => ({
  kind: "join",
  file,
  parts: files[file]?.parts.filter((part) => parts[part] === "saved") ?? [],
  isWhole,
});
