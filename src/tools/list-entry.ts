/** Renders requests and narrations in lists: as fields, as a line of text, and as the facts of other lists. */
import { roundToMilliseconds } from "../contract/numbers.ts";
import { type Wording, wordFor } from "../errors.ts";
import type { ListedNarration } from "../narration/listed-narrations.ts";
import { describeListedNarrationNextStep, NOTHING_TO_DO } from "../narration/narration-next-steps.ts";
import type { ListedRequest } from "../requests/list-requests.ts";
import { describeRequestNextStep, getTaskIdOrRequestHandle } from "./request-next-step.ts";
import { omitNullish } from "./task-output.ts";
import { USUAL_WAIT_SECONDS } from "./tool.ts";

/** What every list shows of a request or a narration. */
export interface ListEntry {
  readonly id: string;
  readonly kind: "request" | "narration";
  /** How its text begins, or the name of the narration. */
  readonly title: string;
  readonly status: string;
  /** How many parts of a narration are saved, in words. */
  readonly parts: string | null;
  readonly createdAtMs: number;
  readonly credits: number | null;
  readonly heldCredits: number | null;
  readonly audioSeconds: number | null;
  readonly voice: string | null;
  readonly take: number | null;
  readonly paths: readonly string[];
  /** Paths of saved files that no longer exist. */
  readonly missingPaths: readonly string[];
  /** The requests and narrations whose files have taken the place of its own. */
  readonly replacedBy: readonly string[];
  /** What else there is, in words: files beside those of a narration, and earlier ones. */
  readonly asides: readonly string[];
  readonly nextStep: Wording;
  /** The fields for programs; empty ones are left out. */
  readonly row: Readonly<Record<string, unknown>>;
  /** The request; absent for a narration. */
  readonly task?: ListedRequest;
}

/** Returns a local time in ISO 8601 without its offset, as `2026-11-21T14:03:22`. */
function formatLocalIso(atMs: number): string {
  const eastMinutes = -new Date(atMs).getTimezoneOffset();
  return new Date(atMs + eastMinutes * 60_000).toISOString().slice(0, 19);
}

/** Formats a local time to the second, as `2026-11-21 14:03:22`. */
export const formatLocalTime = (atMs: number): string => formatLocalIso(atMs).replace("T", " ");

/** Formats a local time in ISO 8601 with its offset, as `2026-11-21T14:03:22+01:00`. */
export function formatIsoWithOffset(atMs: number): string {
  const eastMinutes = -new Date(atMs).getTimezoneOffset();
  const offset = new Date(Math.abs(eastMinutes) * 60_000).toISOString().slice(11, 16);
  return `${formatLocalIso(atMs)}${eastMinutes < 0 ? "-" : "+"}${offset}`;
}

/** @param waitSeconds the wait that the next step names */
export function buildRequestEntry(task: ListedRequest, waitSeconds = USUAL_WAIT_SECONDS): ListEntry {
  const { status, createdAtMs, voice, take, missingPath, replacedBy } = task;
  const id = getTaskIdOrRequestHandle(task);
  const credits = task.billing?.charged_credits ?? null;
  const audioPath = task.audio?.path ?? null;
  const title = task.promptExcerpt ?? "";
  const heldCredits = task.heldCredits === 0 ? null : task.heldCredits;
  const audioSeconds = task.audioSeconds === null ? null : roundToMilliseconds(task.audioSeconds);
  const step = describeRequestNextStep(task, waitSeconds);
  // A result says this in its message; a row has none.
  const before = task.activity === null ? "" : `Not accepted yet. ${task.activity} `;
  const nextStep = {
    assistant: task.audio === null ? `${before}${wordFor(step, "assistant")}` : NOTHING_TO_DO,
    terminal: `${before}${wordFor(step, "terminal")}`,
  };
  return {
    id,
    kind: "request",
    title,
    status,
    parts: null,
    createdAtMs,
    credits,
    heldCredits,
    audioSeconds,
    voice,
    take,
    nextStep,
    task,
    paths: audioPath === null ? [] : [audioPath],
    missingPaths: missingPath === null ? [] : [missingPath],
    replacedBy: replacedBy === null ? [] : [replacedBy],
    asides: [],
    row: {
      task_id: id,
      status,
      prompt_excerpt: title,
      ...omitNullish({ voice, take }),
      created_at: formatIsoWithOffset(createdAtMs),
      ...omitNullish({
        credits,
        held_credits: heldCredits,
        audio_seconds: audioSeconds,
        audio_path: audioPath,
        missing_path: missingPath,
        replaced_by: replacedBy,
      }),
      next_step: wordFor(nextStep, "assistant"),
    },
  };
}

/**
 * Maximum number of paths in a row. A sheet may have a thousand files, and the narration's own result lists all of
 * them.
 */
const MAX_PATHS = 10;

const countFurther = (paths: readonly string[]): number | null =>
  paths.length > MAX_PATHS ? paths.length - MAX_PATHS : null;

const firstPaths = (paths: readonly string[]): string[] | null =>
  paths.length === 0 ? null : paths.slice(0, MAX_PATHS);

/** Counts the captions and chapters beside the files: "captions, chapters" or "5 captions, 5 chapters". */
function describeCompanions({ companions }: ListedNarration): string | null {
  const kinds = [...Map.groupBy(companions, ({ kind }) => (kind === "srt" ? "captions" : kind))];
  const words = kinds.map(([kind, rows]) => (rows.length === 1 ? kind : `${rows.length} ${kind}`));
  return words.length === 0 ? null : words.join(", ");
}

export function buildNarrationEntry(listed: ListedNarration): ListEntry {
  const { narration, status, savedPartCount, totalPartCount, bill, audioSeconds } = listed;
  const { missingPaths, replacedBy } = listed;
  const beside = describeCompanions(listed);
  const earlier = firstPaths(listed.earlierFiles.map(({ path }) => path));
  const { id, title, created_at_ms: createdAtMs } = narration;
  const parts = `${savedPartCount} of ${totalPartCount}`;
  const paths = listed.files.map(({ path }) => path);
  const credits = status === "planned" ? null : Math.round(bill.charged);
  const heldCredits = bill.spent > bill.charged ? bill.spent - bill.charged : null;
  const nextStep = describeListedNarrationNextStep(listed);
  return {
    id,
    kind: "narration",
    title,
    status,
    parts: `${parts} parts`,
    createdAtMs,
    credits,
    heldCredits,
    audioSeconds,
    voice: null,
    take: null,
    nextStep,
    paths,
    missingPaths,
    replacedBy,
    asides: [
      ...(beside === null ? [] : [`with ${beside}`]),
      ...(earlier === null ? [] : [`earlier: ${earlier.join(" ")}`]),
    ],
    row: {
      narration_id: id,
      status,
      title,
      created_at: formatIsoWithOffset(createdAtMs),
      parts,
      ...omitNullish({
        credits,
        held_credits: heldCredits,
        audio_seconds: audioSeconds,
        audio_paths: firstPaths(paths),
        more_files: countFurther(paths),
        missing_paths: firstPaths(missingPaths),
        more_missing: countFurther(missingPaths),
        replaced_by: firstPaths(replacedBy),
        beside,
        earlier_paths: earlier,
      }),
      next_step: wordFor(nextStep, "assistant"),
    },
  };
}

/** Words how many parts are saved, what it has cost, and what is held for it. */
export const listPartsAndCredits = ({ status, parts, credits, heldCredits }: ListEntry): string[] => [
  ...(parts === null ? [] : [parts]),
  ...(credits === null ? [] : [`${credits} credits`]),
  ...(heldCredits === null
    ? []
    : [`${heldCredits} credits ${status === "unresolved" ? "perhaps held" : "held"}`]),
];

const describePaths = (paths: readonly string[]): string => {
  const further = countFurther(paths);
  return `${paths.slice(0, MAX_PATHS).join(" ")}${further === null ? "" : ` and ${further} more`}`;
};

/** Renders the whole row as text, for clients that show only the text. */
export function renderListEntry(entry: ListEntry): string {
  const { id, kind, title, status, createdAtMs, audioSeconds, voice, take, paths, missingPaths } = entry;
  const facts = [
    ...(kind === "narration" ? [kind] : []),
    status,
    formatLocalTime(createdAtMs).slice(0, -":00".length),
    ...listPartsAndCredits(entry),
    ...(audioSeconds === null ? [] : [`${audioSeconds} s`]),
    ...(voice === null ? [] : [`voice: ${voice}`]),
    ...(take === null || take === 1 ? [] : [`take ${take}`]),
  ];
  const there = paths.length === 0 ? "" : ` ${describePaths(paths)}`;
  const notes = [
    ...entry.asides,
    ...(missingPaths.length === 0 ? [] : [`file gone: ${describePaths(missingPaths)}`]),
    ...(entry.replacedBy.length === 0 ? [] : [`file replaced by that of ${entry.replacedBy.join(", ")}`]),
  ].map((note) => ` (${note})`);
  const step = wordFor(entry.nextStep, "assistant");
  const next = step === NOTHING_TO_DO ? "" : ` Next: ${step}`;
  return `${id}: ${facts.join(", ")}. ${JSON.stringify(title)}${there}${notes.join("")}${next}`;
}
