/** Estimates when the parts of a running narration are saved, from the service's limits and what the run has seen. */
import { MAX_CONCURRENT_TASKS, SUBMISSIONS_PER_WINDOW } from "../contract/service-limits.ts";
import type { RunPace } from "../ledger/narration-rows.ts";
import type { Standstill } from "../requests/activity.ts";

/** How long a part usually takes. It counts as one more part of the run, because the first ones made are the quickest. */
const USUAL_MAKING_SECONDS = 15;
/** Many parts take longer than the average. An estimate may be somewhat high, and should not be low. */
const MAKING_MARGIN = 0.2;
/** What took longer was not looked at: its process had ended, or the machine slept. */
const MAX_MAKING_SECONDS = 600;
const DOWNLOAD_SECONDS = 2;
/** Parts that are sent so much more slowly than the limit allows share it with others, and go on so. */
const SLOW_FACTOR = 1.5;
/** What takes longer than it should is not reported as nearly done. */
const LEAST_SHARE_LEFT = 0.25;

/** When parts are likely to be saved, in seconds from now. */
export interface SaveForecast {
  /** The requests that were sent, by their ids. */
  readonly sent: ReadonlyMap<string, number>;
  /** The parts that are still to be sent, in their order. */
  readonly unsent: readonly number[];
}

/**
 * Forecasts when parts are saved, if the next one is sent as soon as the limits allow, and at most as fast as in this
 * run; `null` if nobody knows when they get on. The forecast does not grow until the next part is made.
 *
 * @param countUnsent returns how many parts are still to be sent
 */
export function forecastSaves(
  { attempts, windowSeconds }: RunPace,
  countUnsent: (sent: SaveForecast["sent"]) => number,
  nowMs: number,
  standstill: Standstill | null | undefined,
): SaveForecast | null {
  const heldSeconds = standstill == null ? 0 : standstill.waitSeconds;
  if (heldSeconds === null) return null;
  const made = attempts
    .flatMap(({ sentAtMs, madeAtMs }) => (madeAtMs === null ? [] : [Math.max(0, madeAtMs - sentAtMs) / 1000]))
    .filter((seconds) => seconds <= MAX_MAKING_SECONDS);
  const averageSeconds = made.reduce((sum, each) => sum + each, USUAL_MAKING_SECONDS) / (made.length + 1);
  const marginSeconds = averageSeconds * MAKING_MARGIN + DOWNLOAD_SECONDS;
  const sent = new Map<string, number>();
  const slotEnds: number[] = [];
  for (const { request, status, sentAtMs, madeAtMs } of attempts) {
    if (status === "saved" || status === "failed") continue;
    const leftSeconds = averageSeconds - Math.max(0, nowMs - sentAtMs) / 1000;
    const slotEnd = Math.max(leftSeconds, averageSeconds * LEAST_SHARE_LEFT);
    if (madeAtMs === null) slotEnds.push(slotEnd);
    sent.set(request, madeAtMs === null ? slotEnd + marginSeconds : DOWNLOAD_SECONDS);
  }
  const sentAt = attempts.map(({ sentAtMs }) => Math.min(0, (sentAtMs - nowMs) / 1000)).sort((a, b) => a - b);
  const last = sentAt.at(-1) ?? 0;
  const pauses = sentAt.slice(1).map((at, index) => at - (sentAt[index] ?? at));
  // The lower of two in the middle, because a pause may be a night between two runs of the program.
  const seenPauseSeconds = pauses.sort((a, b) => a - b)[Math.floor((pauses.length - 1) / 2)] ?? 0;
  const isSlow = seenPauseSeconds > (SLOW_FACTOR * windowSeconds) / SUBMISSIONS_PER_WINDOW;
  const pauseSeconds = isSlow ? seenPauseSeconds : 0;
  const unsent: number[] = [];
  for (const count = countUnsent(sent); unsent.length < count; ) {
    const slotAt = slotEnds.sort((a, b) => b - a)[MAX_CONCURRENT_TASKS - 1] ?? 0;
    const windowAt = (sentAt.at(-SUBMISSIONS_PER_WINDOW) ?? Number.NEGATIVE_INFINITY) + windowSeconds;
    const at = Math.max(heldSeconds, slotAt, windowAt, last + pauseSeconds * (unsent.length + 1));
    sentAt.push(at);
    slotEnds.splice(MAX_CONCURRENT_TASKS - 1, slotEnds.length, at + averageSeconds);
    unsent.push(at + averageSeconds + marginSeconds);
  }
  return { sent, unsent };
}

/**
 * Estimates the seconds until all parts are saved; `null` if nobody knows.
 *
 * @param missingCount the requests whose audio is not saved and still to come. Equal parts share one
 */
export function estimateSecondsLeft(
  pace: RunPace,
  missingCount: number,
  nowMs: number,
  standstill?: Standstill | null,
): number | null {
  const forecast = forecastSaves(pace, ({ size }) => missingCount - size, nowMs, standstill);
  if (forecast === null) return null;
  return Math.ceil(Math.max(0, ...forecast.sent.values(), forecast.unsent.at(-1) ?? 0));
}
