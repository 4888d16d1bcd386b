/** Calibrates length estimates by the actual length of earlier tasks. */
import { estimateSeconds } from "../contract/estimate.ts";
import { listRequests } from "../ledger/request-rows.ts";
import type { RequestRow } from "../ledger/schema.ts";
import type { RequestDeps } from "./deps.ts";
import { parseStoredInput, type StoredInput } from "./stored-input.ts";

/** How many of the newest tasks are compared, at most. */
const MAX_TASKS = 60;
/** Minimum number of tasks. With fewer tasks, the factor is 1, because the sample is too small. */
const MIN_TASKS = 5;
/**
 * Minimum estimated length of the texts that are compared. The audio of shorter texts is mostly leading and trailing
 * silence.
 */
const MIN_ESTIMATE_SECONDS = 3;
/**
 * Maximum calibration factor. The minimum is 1 divided by this maximum. A median beyond these bounds has another cause
 * than the voice, so the nearest bound is used instead.
 */
const MAX_FACTOR = 2;

interface MeasuredRatio {
  readonly voice: StoredInput["voice"];
  /** Actual seconds divided by estimated seconds. */
  readonly ratio: number;
}

function measureRatio(row: RequestRow): MeasuredRatio[] {
  const input = parseStoredInput(row);
  if (input === null || row.audio_seconds === null) return [];
  const estimated = estimateSeconds(input.sentPrompt) / input.speed;
  if (estimated < MIN_ESTIMATE_SECONDS) return [];
  return [{ voice: input.voice, ratio: row.audio_seconds / estimated }];
}

function computeMedian(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const [below, above] = [sorted[Math.ceil(middle) - 1] ?? 1, sorted[Math.floor(middle)] ?? 1];
  return (below + above) / 2;
}

/**
 * Returns the factor by which estimates of length and cost are multiplied: the median of actual divided by estimated
 * length in earlier tasks. Uses only tasks of the same voice if there are enough. Idempotency keys, limits and the
 * division into parts do not use this factor, because they must not change with the history.
 *
 * @param rows the requests of finished tasks, in any order
 * @returns 0.5 to 2; 1 if there are too few tasks
 */
export function computeCalibration(rows: readonly RequestRow[], voice: string | null): number {
  const allRatios = rows.flatMap(measureRatio);
  const ofVoice = allRatios.filter((one) => one.voice === voice);
  const ratios = (ofVoice.length >= MIN_TASKS ? ofVoice : allRatios).map(({ ratio }) => ratio);
  if (ratios.length < MIN_TASKS) return 1;
  return Math.min(MAX_FACTOR, Math.max(1 / MAX_FACTOR, computeMedian(ratios)));
}

/**
 * Computes the factor from the tasks in the ledger. If the ledger cannot be read, returns 1, so that the call does not
 * fail.
 */
export async function readCalibration(
  { ledger, log }: Pick<RequestDeps, "ledger" | "log">,
  voice: string | null,
): Promise<number> {
  try {
    const rows = await listRequests(ledger, {
      apiKeys: "own",
      statuses: ["succeeded", "saved"],
      includesParts: true,
      limit: MAX_TASKS,
    });
    return computeCalibration(rows, voice);
  } catch (error) {
    log.debug(`an estimate was not calibrated: ${String(error)}`);
    return 1;
  }
}
