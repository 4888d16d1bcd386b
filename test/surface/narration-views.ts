/** Narration views in every state, for tests of results and texts. */
import type { FileRow } from "../../src/ledger/schema.ts";
import type { NarrationView } from "../../src/narration/narration-view.ts";
import type { NarrationProblem } from "../../src/narration/part-status.ts";

const ID = "nar_0123456789abcdef0123456789abcdef";
const FOLDER = "/home/someone/audio-generation";

const planned: NarrationView = {
  narrationId: ID,
  status: "planned",
  title: "The Harbour",
  parts: { total: 12, saved: 0, running: 0, failed: 0, alreadyPaid: 0 },
  missingCount: 12,
  credits: {
    estimate: 1050,
    charged: 0,
    reserved: 0,
    max: null,
    suggestedMax: 1310,
    leastMax: 1112,
    pendingCharge: 0,
  },
  seconds: { estimate: 840, saved: 0, left: null },
  isSheet: false,
  files: [],
  problems: [],
  remarks: [],
  unspoken: [],
  isRepeat: false,
  argumentsToRepeat: [],
  takenNames: null,
  hasQuoteOnlyRetake: false,
  missingPaths: [],
  changedPaths: [],
  outdatedPaths: [],
  keptPaths: [],
  lateMax: 0,
  incompletePath: `${FOLDER}/The-Harbour-1a2b3c4d (incomplete).mp3`,
  chapters: [],
  chapterFileCount: null,
  isOfChosen: false,
  canChooseSooner: false,
  isTimed: false,
  unjoinedParts: [],
  listening: "",
  retakenPartCount: 0,
  shortPartCount: 0,
};

const row = (kind: FileRow["kind"], path: string): FileRow => ({
  path: `${FOLDER}/${path}`,
  owner: ID,
  kind,
  chapter: null,
  size_bytes: kind === "audio" ? 6_720_000 : 900,
  sha256: "5".repeat(64),
  saved_at_ms: 0,
  inputs: "whole:",
  seconds: kind === "audio" ? 843.512 : null,
  lacks: null,
  doubtful: null,
});

const file = (name: string, chapter: string | null): NarrationView["files"][number] => ({
  audio: row("audio", `${name}.mp3`),
  beside: [row("captions", `${name}.vtt`)],
  chapterTitle: chapter,
  sheetRow: undefined,
  conflictingName: null,
  conflictingBeside: [],
  isIncomplete: false,
  missingPartIndexes: [],
  doubtfulPartProblems: [],
});

/** A file of a sheet, which has no captions. */
const short = (name: string, chapter: string): NarrationView["files"][number] => {
  const { audio, ...others } = file(name, chapter);
  return { ...others, audio: { ...audio, seconds: 3 }, beside: [] };
};

const running: NarrationView = {
  ...planned,
  status: "running",
  parts: { total: 12, saved: 4, running: 2, failed: 0, alreadyPaid: 1 },
  missingCount: 8,
  credits: {
    estimate: 1040,
    charged: 262,
    reserved: 300,
    max: 1560,
    suggestedMax: 1245,
    leastMax: 1102,
    pendingCharge: 180,
  },
  seconds: { estimate: 838, saved: 281, left: 95 },
};

const stopped = (problems: readonly NarrationProblem[], excerpt: string | null = null): NarrationView => ({
  ...running,
  status: "stopped",
  parts: { ...running.parts, running: 0 },
  credits: { ...running.credits, reserved: 0, suggestedMax: 1560 },
  seconds: { ...running.seconds, left: null },
  problems: problems.map((problem) => ({ ...problem, excerpt })),
});

export const NARRATIONS: Readonly<Record<string, NarrationView>> = {
  "a plan": planned,
  "a plan with parts that are paid for, and text that is not spoken": {
    ...planned,
    parts: { ...planned.parts, saved: 1, alreadyPaid: 1 },
    missingCount: 11,
    unspoken: ['Not spoken: a block of code ("npm ci").'],
  },
  "a plan of which everything is paid for": {
    ...planned,
    parts: { ...planned.parts, saved: 12, alreadyPaid: 12 },
    missingCount: 0,
    credits: { ...planned.credits, estimate: 0, suggestedMax: 0, leastMax: 0 },
  },
  running,
  "stopped with its process": stopped([]),
  "stopped while parts are with the service": {
    ...stopped([{ partIndex: null, code: "stopped", message: "It was stopped, as asked for." }]),
    parts: running.parts,
    credits: { ...running.credits, suggestedMax: 1560 },
  },
  "stopped by a part whose audio is damaged": stopped(
    [
      {
        partIndex: 6,
        code: "audio_unusable",
        message: "Its audio is damaged: it ends in the middle of its header.",
      },
    ],
    "The gulls were gone by morning, and nobody had seen them",
  ),
  "stopped by its limit": stopped([
    {
      partIndex: null,
      code: "max_credits_reached",
      message:
        "max_credits of 300 leaves no room for another part: 262 were charged, and each part sets 150 aside until its own charge is known.",
    },
  ]),
  "a plan whose limit is below what is suggested": { ...planned, refusedLimit: 900 },
  "stopped by stop": stopped([
    { partIndex: null, code: "stopped", message: "It was stopped, as asked for." },
  ]),
  "stopped by its limit, with what is paid in a file": {
    ...stopped([
      {
        partIndex: null,
        code: "max_credits_reached",
        message:
          "max_credits of 300 leaves no room for another part: 262 were charged, and each part sets 150 aside until its own charge is known.",
      },
    ]),
    files: [
      {
        ...file("The-Harbour-1a2b3c4d (incomplete)", null),
        isIncomplete: true,
        missingPartIndexes: [4, 5, 6, 7, 8, 9, 10, 11],
      },
    ],
  },
  "finished without a part that failed": {
    ...running,
    status: "finished",
    parts: { ...running.parts, saved: 11, running: 0, failed: 1 },
    credits: { ...running.credits, charged: 950, reserved: 0 },
    seconds: { ...running.seconds, left: null },
    files: [{ ...file("The-Harbour-1a2b3c4d", null), missingPartIndexes: [6] }],
    problems: [
      {
        partIndex: 6,
        code: "skipped",
        message: "It is left out.",
        excerpt: "The gulls were gone by morning, and nobody had seen them",
      },
    ],
  },
  "stopped by a part that fails": stopped(
    [{ partIndex: 6, code: "task_failed", message: "Task gen_1 failed; the service gave no usable reason." }],
    "The gulls were gone by morning, and nobody had seen them",
  ),
  "stopped by a 402": stopped([
    { partIndex: null, code: "insufficient_credits", message: "The service answered … with HTTP 402." },
  ]),
  "stopped by parts that differ": stopped(
    [
      {
        partIndex: 6,
        code: "parts_differ",
        message:
          "Its audio has sample rate 48000, and part 1 has 24000; one file cannot hold both. The parts are kept.",
      },
    ],
    "The gulls were gone by morning, and nobody had seen them",
  ),
  finished: {
    ...running,
    status: "finished",
    parts: { ...running.parts, saved: 12, running: 0 },
    credits: { ...running.credits, estimate: 1038, charged: 1038, reserved: 0 },
    seconds: { estimate: 844, saved: 836, left: null },
    files: [file("The-Harbour-1a2b3c4d", null)],
    isRepeat: false,
    retakenPartCount: 0,
  },
  "finished, and asked for again": {
    ...running,
    status: "finished",
    parts: { ...running.parts, saved: 12, running: 0 },
    credits: { ...running.credits, estimate: 1038, charged: 1038, reserved: 0, suggestedMax: 1038 },
    seconds: { estimate: 844, saved: 836, left: null },
    files: [file("The-Harbour-1a2b3c4d", null)],
    isRepeat: true,
  },
  "finished, and its file is not here": {
    ...running,
    status: "finished",
    parts: { ...running.parts, saved: 12, running: 0 },
    credits: { ...running.credits, estimate: 1038, charged: 1038, reserved: 0, suggestedMax: 1038 },
    seconds: { estimate: 844, saved: 836, left: null },
    missingPaths: [`${FOLDER}/The-Harbour-1a2b3c4d.mp3`],
    isRepeat: true,
  },
  "a plan for another take of one part": {
    ...running,
    status: "planned",
    parts: { ...running.parts, saved: 11, running: 0 },
    missingCount: 1,
    credits: {
      estimate: 1125,
      charged: 1038,
      reserved: 0,
      max: 1560,
      suggestedMax: 1188,
      leastMax: 1188,
      pendingCharge: 0,
    },
    seconds: { estimate: 844, saved: 766, left: null },
    retakenPartCount: 1,
    argumentsToRepeat: ["the same retakes"],
  },
  "finished, a file a chapter": {
    ...running,
    status: "finished",
    seconds: { ...running.seconds, left: null },
    files: [file("book-01-Down", "Down"), file("book-02-Up", "Up")],
  },
  "finished, a file for each of forty rows of a sheet": {
    ...running,
    status: "finished",
    parts: { total: 40, saved: 40, running: 0, failed: 0, alreadyPaid: 0 },
    credits: { ...running.credits, estimate: 400, charged: 400, reserved: 0, suggestedMax: 400 },
    seconds: { estimate: 120, saved: 120, left: null },
    isSheet: true,
    files: Array.from({ length: 40 }, (_, index) =>
      short(`line_${index + 1}`, `Line ${index + 1} of the game`),
    ),
  },
  "running, with files of a sheet": {
    ...running,
    isSheet: true,
    files: [short("line_1", "Line 1 of the game")],
  },
};
