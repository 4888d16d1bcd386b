/** The use case behind a narration's part: one request to its saved file, among the parts, in the background. */
import type { AudioInput } from "../../contract/audio-input.ts";
import { Deadline, withDeadline } from "../../deadline.ts";
import { AudioError } from "../../errors.ts";
import type { SavedFile } from "../../files/saved-file.ts";
import { workId } from "../../ledger/identity.ts";
import { NO_TASK_YET } from "../../ledger/lifecycle.ts";
import { isOpen, type TaskRecord } from "../../ledger/record.ts";
import { canonicalInput } from "../canonical-input.ts";
import type { GenerationDeps } from "../deps.ts";
import { NotWantedError } from "../job/job.ts";
import type { Jobs } from "../job/jobs.ts";
import { describe } from "../job/phase.ts";
import { type OpenCall, waitForJob } from "../job/wait-for-job.ts";
import { findSaved } from "../saved-files.ts";
import { taskFailed } from "../task-failed.ts";
import { findOrDraft } from "./find-record.ts";
import { newestExisting } from "./own-files.ts";

export interface PartRequest {
  readonly input: AudioInput;
  /** Its text, where words of it are respelled in the input. */
  readonly writtenPrompt?: string | null;
  readonly take: number;
}

/** A part whose audio is here. */
export interface SavedPart {
  readonly record: TaskRecord;
  readonly file: SavedFile;
}

/** What a narration asks of the workflow for its parts: one at a time, in the background. */
export interface PartWork {
  /** What the ledger knows of it; `null`: nobody has asked for it. */
  find(request: PartRequest): Promise<TaskRecord | null>;
  /** Its audio where it is on this machine, intact; nobody is asked for it. */
  saved(request: PartRequest): Promise<SavedPart | null>;
  generate(request: PartRequest, call: PartCall): Promise<SavedPart>;
  /** Whether its text is paid for with other pronunciations, and would be made anew. */
  hasOtherPronunciation(request: PartRequest): Promise<boolean>;
  finish(request: PartRequest, call: Pick<PartCall, "signal">): Promise<void>;
  /** How much longer or shorter than its estimate earlier audio of this voice came out; 1 where too little is known. */
  pace(voice: string | null): Promise<number>;
}

export interface PartCall {
  /** Aborts when the narration is to stop: what is not sent is dropped, what is accepted goes on and is saved. */
  readonly signal: AbortSignal;
  /** The narration that pays for it. */
  readonly narrationId: string;
  /** Called once its create has left, perhaps more than once. */
  readonly onSent?: () => void;
  /** Called with a sentence when the service says what nobody understands of it, perhaps more than once. */
  readonly onOddity?: (sentence: string) => void;
  /** Its audio is fetched although it is here, because that is damaged. */
  readonly forcesDownload?: boolean;
}

/**
 * Waits for a part that was accepted, or whose create is on its way, until it has ended and is saved; creates nothing.
 * One that nobody has accepted, or that has ended, is left as it is.
 *
 * @throws the signal's reason
 */
export async function finishPart(
  deps: GenerationDeps,
  jobs: Jobs,
  request: PartRequest,
  { signal }: Pick<PartCall, "signal">,
): Promise<void> {
  const record = await findPart(deps, request);
  const running = record === null ? undefined : jobs.running(record.recordId);
  if (running !== undefined && record?.taskId === null) {
    // Whoever joined it would want it created, if the service refuses it now.
    const { leftMs: ms } = openEnded(deps, signal).deadline;
    const late = (): AudioError => new AudioError("timeout", "A part could not be brought to its end.");
    await withDeadline({ clock: deps.clock, ms, signal, late }, () => running.end);
    return;
  }
  if (record === null || record.taskId === null || !isOpen(record)) return;
  const { job } = jobs.start(record, "finish");
  await waitForJob(job, openEnded(deps, signal));
}

/** A part is waited for as long as the service can take, and a little longer. */
function openEnded({ clock, timing }: GenerationDeps, signal: AbortSignal): OpenCall {
  const deadline = new Deadline(clock, 2 * timing.recoveryMs);
  return { signal, windowMs: deadline.leftMs, onProgress: () => undefined, deadline };
}

/** A job left for reasons of its own is started anew. */
const MAX_STARTS = 3;

/**
 * What the ledger knows of a part, whatever key sent it: this key's record, unless another key's audio is here. What
 * only another key has sent counts until the service shows that the task is another account's: then this key gets a
 * record of its own, which takes its place.
 *
 * @returns `null` where nobody has asked for it
 */
export async function findPart(
  { ledger, folder }: GenerationDeps,
  { input, take }: PartRequest,
): Promise<TaskRecord | null> {
  const { origin, accountId } = ledger.identity;
  const records = await ledger.ofWork(workId(origin, canonicalInput(input), take));
  const own = records.find((record) => record.accountId === accountId);
  if (own?.status === "succeeded") return own;
  for (const record of records) {
    const sound = record.files.filter(({ isSound }) => isSound);
    if (record !== own && (await newestExisting(sound, folder.root)) !== null) return record;
  }
  if (own !== undefined && wasSent(own)) return own;
  const newest = records.findLast((record) => record !== own && wasSent(record));
  if (newest === undefined) return own ?? null;
  // Its audio is not here, and may have to be made again: what it has cost counts, and nothing is there yet.
  return newest.status === "succeeded" ? { ...newest, ...NO_TASK_YET } : newest;
}

/** The audio of a part on this machine; `null` where it is not here. */
export async function savedPart(deps: GenerationDeps, request: PartRequest): Promise<SavedPart | null> {
  const record = await findPart(deps, request);
  const file = record === null ? null : await findSaved(deps, record, null);
  return record !== null && file?.isSound === true ? { record, file } : null;
}

const wasSent = ({ status, attempt }: TaskRecord): boolean => status !== "waiting" || attempt > 1;

/**
 * Brings one part to its file. It is paid for once, like every request; where its audio is on this machine already,
 * wherever that lies, nothing is asked of the service.
 *
 * @throws AudioError what the service refuses, `task_failed`, what saving throws; NotWantedError; the signal's reason
 */
export async function generatePart(
  deps: GenerationDeps,
  jobs: Jobs,
  { input, writtenPrompt = null, take }: PartRequest,
  { signal, narrationId, onSent, onOddity, forcesDownload = false }: PartCall,
): Promise<SavedPart> {
  const work = { input: canonicalInput(input), writtenPrompt, take, fileName: null, shelf: "parts" } as const;
  for (let starts = 0; starts < MAX_STARTS; starts += 1) {
    const { record, file } = await findOrDraft(deps, work, signal);
    if (file !== null && !forcesDownload) return { record, file };
    await deps.parts.ensureWritable();
    signal.throwIfAborted();
    const { job } = jobs.start(record, "create", { narrationId, forcesDownload });
    const onProgress = (): void => {
      if (job.record.status !== "waiting") onSent?.();
      const { phase, record: current } = job;
      if (phase.kind === "watching" && phase.unknownStatus !== undefined) {
        onOddity?.(describe(phase, current, deps.clock));
      }
    };
    const end = await waitForJob(job, { ...openEnded(deps, signal), onProgress });
    switch (end?.kind) {
      case "saved":
        return { record: end.record, file: end.file };
      case "failed":
        throw taskFailed(end.record);
      case "error":
        throw end.error;
      case "not_wanted":
        throw new NotWantedError("the narration wants no more creates");
      case "left":
      case undefined:
        signal.throwIfAborted();
    }
  }
  throw new AudioError("timeout", "A part could not be brought to its end.", { retryable: true });
}
