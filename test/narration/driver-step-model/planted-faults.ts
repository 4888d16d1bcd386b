/**
 * Faults that random scenarios must find. Each fault changes one thing: the choice of a step, or the driver that
 * executes the step.
 */
import {
  decideDriverStep,
  type FileProgress,
  type NarrationProgress,
  type PartState,
} from "../../../src/narration/driving/driver-step.ts";
import type { DriverFaults, Next } from "./narration-scenario.ts";

interface PlantedFault {
  readonly name: string;
  readonly next: Next;
  readonly faults?: DriverFaults;
  /** The promises that the fault may break. */
  readonly promises: readonly string[];
}

const at = ({ partStates }: NarrationProgress, wanted: PartState): number => partStates.indexOf(wanted);

const withFiles = (
  progress: NarrationProgress,
  change: (file: FileProgress) => FileProgress,
): NarrationProgress => ({
  ...progress,
  files: progress.files.map(change),
});

export const plantedFaults: readonly PlantedFault[] = [
  {
    name: "four parts are at work",
    next: (progress) => {
      const working = progress.partStates.filter((state) => state === "working").length;
      const open = progress.partStates.findIndex(
        (state, index) =>
          state === "to_do" &&
          progress.partStates[progress.firstEqualPartIndexes[index] ?? index] === "to_do",
      );
      const isHeld = progress.hasStoppedSubmitting || progress.hasUnacceptedPart || progress.isOutOfCredits;
      const hasRoom = !isHeld && working === 3 && open !== -1;
      return hasRoom ? { kind: "run_part", partIndex: open } : decideDriverStep(progress);
    },
    promises: ["at most three are at work"],
  },
  {
    name: "a halt is ignored",
    next: (progress) => decideDriverStep({ ...progress, hasStoppedSubmitting: false }),
    promises: ["nothing is begun that was halted"],
  },
  {
    name: "the limit is ignored",
    next: (progress) => decideDriverStep({ ...progress, isOutOfCredits: false }),
    promises: ["nothing is begun that has no room"],
  },
  {
    name: "a part may overtake the one before it",
    next: (progress) => decideDriverStep({ ...progress, hasUnacceptedPart: false }),
    promises: ["nothing overtakes a part that is not sent yet"],
  },
  {
    name: "equal parts count as different ones",
    next: (progress) =>
      decideDriverStep({ ...progress, firstEqualPartIndexes: progress.partStates.map((_, index) => index) }),
    promises: ["no two equal parts are at work"],
  },
  {
    name: "the last open part begins first",
    next: (progress) => {
      const step = decideDriverStep(progress);
      if (step.kind !== "run_part" || progress.partStates[step.partIndex] !== "to_do") return step;
      return { kind: "run_part", partIndex: progress.partStates.lastIndexOf("to_do") };
    },
    promises: ["parts begin in reading order", "no two equal parts are at work"],
  },
  {
    name: "what was sent waits for what is open",
    next: (progress) => {
      const step = decideDriverStep(progress);
      const open = at(progress, "to_do");
      const isSent = step.kind === "run_part" && progress.partStates[step.partIndex] === "sent";
      return isSent &&
        open !== -1 &&
        !progress.hasStoppedSubmitting &&
        !progress.hasUnacceptedPart &&
        !progress.isOutOfCredits
        ? { kind: "run_part", partIndex: open }
        : step;
    },
    promises: ["what was sent comes first", "no two equal parts are at work"],
  },
  {
    name: "what was sent is left to itself after a halt",
    next: (progress) => {
      const step = decideDriverStep(progress);
      const isSent =
        step.kind === "run_part" &&
        progress.partStates[step.partIndex] === "sent" &&
        progress.hasStoppedSubmitting;
      return isSent ? { kind: "end", isComplete: false } : step;
    },
    promises: [
      "it does not end while a part is with the service",
      "it does not end while a part is at work",
      "a file is joined as soon as it is complete",
    ],
  },
  {
    name: "files are joined at the end alone",
    next: (progress) => {
      const step = decideDriverStep(progress);
      return step.kind === "join" && at(progress, "working") !== -1 ? { kind: "wait" } : step;
    },
    promises: ["a file is joined as soon as it is complete"],
  },
  {
    name: "a file that is whole is joined again",
    next: (progress) =>
      decideDriverStep(
        withFiles(progress, (file) =>
          file.joinResult === "complete" ? { ...file, joinResult: null } : file,
        ),
      ),
    promises: ["a file is joined once"],
  },
  {
    name: "a file that cannot be joined is tried for ever",
    next: (progress) =>
      decideDriverStep(
        withFiles(progress, (file) => (file.joinResult === "failed" ? { ...file, joinResult: null } : file)),
      ),
    promises: ["a file is joined once"],
  },
  {
    name: "an incomplete file is made while parts are at work",
    next: (progress) => {
      const step = decideDriverStep(progress);
      if (step.kind !== "wait") return step;
      const parts = progress.partStates.map((state): PartState => (state === "working" ? "failed" : state));
      return decideDriverStep({ ...progress, partStates: parts, hasStoppedSubmitting: true });
    },
    promises: [
      "an incomplete file waits for what is at work",
      "it does not end while a part is at work",
      "only a complete file is called whole",
    ],
  },
  {
    name: "no incomplete file is made",
    next: (progress) => {
      const step = decideDriverStep(progress);
      return step.kind === "join" && !step.isComplete ? { kind: "end", isComplete: false } : step;
    },
    promises: ["it does not end before what is saved is in a file"],
  },
  {
    name: "a file lacks its last part",
    next: (progress) => {
      const step = decideDriverStep(progress);
      return step.kind === "join" ? { ...step, partIndexes: step.partIndexes.slice(0, -1) } : step;
    },
    promises: ["a file holds its saved parts, in order"],
  },
  {
    name: "an incomplete narration is called finished",
    next: (progress) => {
      const step = decideDriverStep(progress);
      return step.kind === "end" ? { ...step, isComplete: true } : step;
    },
    promises: ["it is finished when all its files are whole"],
  },
  {
    name: "the driver records the end of a task for only one of two equal parts",
    next: decideDriverStep,
    faults: { forgetsEquals: true },
    promises: ["what is saved is not made again under another number"],
  },
  {
    name: "the driver takes the limit for reached when there is room again",
    next: decideDriverStep,
    faults: { staysFull: true },
    promises: ["it does not end while a part can be made", "an incomplete file is made at the end alone"],
  },
];
