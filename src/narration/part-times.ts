/** Computes when the parts of a narration are heard: exactly if their audio is here, otherwise by estimates. */
import type { JoinPart, Span } from "../audio/join-request.ts";
import { DamagedPartError, PartsDifferError } from "../audio/part-errors.ts";
import { isThere } from "../files/saved-copies.ts";
import { listFiles } from "../ledger/file-rows.ts";
import type { RequestDeps } from "../requests/deps.ts";
import { toSavedFile } from "../requests/saved-audio.ts";
import type { NarrationView, ViewedNarration } from "./narration-view.ts";
import type { PartState } from "./part-status.ts";
import { getPlannedPart } from "./parts.ts";
import { getPlanFormat, type StoredPlan } from "./planning/stored-plan.ts";
import { forecastSaves } from "./time-left.ts";

export interface PartTime {
  /** When the part's sound begins, in seconds from the beginning of the narration as one file. */
  readonly startSeconds: number;
  /** Whether a part before it is not there, or not measured yet. */
  readonly isEstimate: boolean;
  /** Seconds until the part is likely to be saved; `null` if it is saved, or nobody can say. */
  readonly readySeconds: number | null;
}

/** A narration with its parts, and when they are heard. */
export interface PartsView {
  readonly view: NarrationView;
  readonly viewed: ViewedNarration;
  readonly times: readonly PartTime[];
}

/** A saved part whose audio is on this machine. */
export interface AudiblePart {
  readonly source: JoinPart;
  readonly sha256: string;
}

/** Parts that one call measures at most, because a book has hundreds. Later calls measure the rest. */
const MAX_MEASURED = 40;
/** Measurements that are kept; a pair of parts is two numbers. */
const MAX_KEPT = 20_000;

/** Finds the audio of saved parts on this machine, by position. Does not verify its content. */
export async function findAudibleParts(
  { ledger, folder }: Pick<RequestDeps, "ledger" | "folder">,
  plan: StoredPlan,
  states: readonly PartState[],
): Promise<ReadonlyMap<number, AudiblePart>> {
  const saved = states.filter(({ status }) => status === "saved");
  const rows = await listFiles(
    ledger,
    saved.flatMap(({ task }) => task?.id ?? []),
  );
  const byOwner = Map.groupBy(
    rows.filter(({ kind }) => kind === "audio"),
    ({ owner }) => owner,
  );
  const found = await Promise.all(
    saved.map(async ({ part, task }) => {
      const files = byOwner.get(task?.id ?? "") ?? [];
      const areThere = await Promise.all(files.map((row) => isThere(toSavedFile(row), folder.root)));
      const file = files.find((_, index) => areThere[index]);
      if (file === undefined) return [];
      const { pauseAfterSeconds, startSeconds } = getPlannedPart(plan, part.position);
      const source = {
        path: file.path,
        durationSeconds: task?.output_seconds ?? task?.audio_seconds ?? 0,
        sampleRateHz: plan.settings.sample_rate ?? task?.output_rate_hz ?? 0,
        pauseAfterSeconds,
        startSeconds,
      };
      return [[part.position, { source, sha256: file.sha256 }] as const];
    }),
  );
  return new Map(found.flat());
}

interface Measurement {
  readonly spans: readonly Span[];
  /** Silence at the beginning of the first part, which a timeline places before the part's time. */
  readonly leadSeconds: number;
}

/** Computes times as the joiner does, and remembers what it has measured. */
export class PartTimes {
  readonly #deps: Pick<RequestDeps, "ledger" | "folder" | "clock">;
  /** What was measured of two neighbours in a file of their own, or of one part, by their hashes. */
  readonly #measured = new Map<string, Measurement>();

  constructor(deps: Pick<RequestDeps, "ledger" | "folder" | "clock">) {
    this.#deps = deps;
  }

  /**
   * Computes the times of all parts, in reading order. Parts that are not coming take no time.
   *
   * @param view says what holds missing parts
   */
  async compute(
    viewed: ViewedNarration,
    { standstill }: Pick<NarrationView, "standstill">,
  ): Promise<PartTime[]> {
    const { plan, states } = viewed;
    const audible = await findAudibleParts(this.#deps, plan, states);
    const isCounted = ({ status }: PartState): boolean =>
      status === "saved" || (viewed.status === "running" && status !== "failed" && status !== "skipped");
    const counted = states.filter(isCounted);
    const starts = new Map<number, Pick<PartTime, "startSeconds" | "isEstimate">>();
    let [at, isEstimate, measuredCount] = [0, false, 0];
    const measure = async (...positions: number[]): Promise<Measurement | null> => {
      const parts = positions.flatMap((position) => audible.get(position) ?? []);
      if (parts.length < positions.length || getPlanFormat(plan) === "pcm") return null;
      const key = JSON.stringify(parts.map(({ sha256, source }) => [sha256, source.pauseAfterSeconds]));
      if (!this.#measured.has(key)) {
        measuredCount += 1;
        if (measuredCount > MAX_MEASURED) return null;
      }
      return await this.#measure(key, plan, parts);
    };
    for (const [index, { part, task }] of counted.entries()) {
      const { pauseAfterSeconds, estimatedSeconds, startSeconds } = getPlannedPart(plan, part.position);
      const next = counted[index + 1]?.part.position;
      const pair = next === undefined ? null : await measure(part.position, next);
      const measured = pair ?? (await measure(part.position));
      const [own, following] = measured?.spans ?? [];
      if (index === 0) at = own?.startSeconds ?? 0;
      at = Math.max(at, (startSeconds ?? 0) - (measured?.leadSeconds ?? 0));
      starts.set(part.position, { startSeconds: at, isEstimate });
      const length =
        own === undefined ? (task?.audio_seconds ?? estimatedSeconds) : own.endSeconds - own.startSeconds;
      if (own !== undefined && following !== undefined) at += following.startSeconds - own.startSeconds;
      else {
        at += length + pauseAfterSeconds;
        isEstimate = true;
      }
    }
    const readySeconds = this.#forecast(viewed, counted, standstill);
    let last = { startSeconds: 0, isEstimate: false };
    return states.map(({ part }) => {
      // A part that is left out begins where the next one does.
      const next = counted.find((state) => state.part.position >= part.position);
      last = starts.get(next?.part.position ?? -1) ?? { ...last, startSeconds: at };
      return { ...last, readySeconds: readySeconds.get(part.position) ?? null };
    });
  }

  /** Forecasts by position in how many seconds missing parts are saved. */
  #forecast(
    { narration, pace, status }: ViewedNarration,
    counted: readonly PartState[],
    standstill: NarrationView["standstill"],
  ): ReadonlyMap<number, number> {
    const missing = counted.filter((state) => status === "running" && state.status !== "saved");
    const order: number[] = [];
    const forecast = forecastSaves(
      pace,
      (sent) => {
        const unsent = missing.filter(({ task }) => !sent.has(task?.id ?? ""));
        const list = (isTakenUp: boolean): number[] =>
          unsent.flatMap((each) => ((each.status === "waiting") === isTakenUp ? [each.part.position] : []));
        // What waits for its turn already is sent first, whatever is heard.
        return order.push(...list(true), ...sortByHearing(list(false), narration.heard_part));
      },
      this.#deps.clock.wallMs(),
      standstill,
    );
    const turns = new Map(order.map((position, turn) => [position, forecast?.unsent[turn]]));
    return new Map(
      missing.flatMap(({ part: { position }, task }) => {
        const seconds = forecast?.sent.get(task?.id ?? "") ?? turns.get(position);
        return seconds === undefined ? [] : [[position, Math.ceil(seconds)]];
      }),
    );
  }

  async #measure(key: string, plan: StoredPlan, parts: readonly AudiblePart[]): Promise<Measurement | null> {
    const known = this.#measured.get(key);
    if (known !== undefined) return known;
    const { joinAudio } = await import("../audio/join.ts");
    const { findLeadingSilences } = await import("../audio/captions/silences.ts");
    const format = getPlanFormat(plan);
    const sources = parts.map(({ source: { startSeconds: _, ...source } }) => source);
    const timed = parts.slice(0, 1).filter(({ source }) => source.startSeconds !== undefined);
    try {
      const [leadSeconds = 0] = await findLeadingSilences(
        format,
        timed.map(({ source }) => source),
        new AbortController().signal,
      );
      const request = { format, parts: sources, chapters: [], write: async () => undefined };
      const measured = { spans: (await joinAudio(request)).parts, leadSeconds };
      const [oldest] = this.#measured.keys();
      if (this.#measured.size >= MAX_KEPT && oldest !== undefined) this.#measured.delete(oldest);
      this.#measured.set(key, measured);
      return measured;
    } catch (error) {
      // The joiner reports what is wrong with a part.
      if (error instanceof DamagedPartError || error instanceof PartsDifferError) return null;
      throw error;
    }
  }
}

/** Sorts positions as they are made: from the part on that is heard, then those before it. */
export const sortByHearing = (positions: readonly number[], heardPart: number): number[] => [
  ...positions.filter((position) => position >= heardPart),
  ...positions.filter((position) => position < heardPart),
];
