/** How much longer or shorter this service speaks than the fixed table of estimates says, by what earlier tasks came to. */
import { estimateSeconds } from "../contract/estimate.ts";
import type { TaskRecord } from "../ledger/record.ts";
import type { GenerationDeps } from "./deps.ts";
import { type StoredInput, storedInput } from "./saved-files.ts";

/** So many of the newest tasks are looked at. */
const MAX_TASKS = 60;
/** Fewer say nothing. */
const MIN_TASKS = 5;
/** Shorter texts are mostly the silence around them. */
const MIN_ESTIMATE_SECONDS = 3;
/** Beyond this it is not the pace that differs. */
const MAX_FACTOR = 2;

interface Spoken {
  readonly voice: StoredInput["voice"];
  /** Seconds over those that the table said. */
  readonly ratio: number;
}

function spoken(record: TaskRecord): Spoken[] {
  const input = storedInput(record);
  if (input === null || record.audioSeconds === null) return [];
  const estimated = estimateSeconds(input.spoken) / input.speed;
  if (estimated < MIN_ESTIMATE_SECONDS) return [];
  return [{ voice: input.voice, ratio: record.audioSeconds / estimated }];
}

function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const [below, above] = [sorted[Math.ceil(middle) - 1] ?? 1, sorted[Math.floor(middle)] ?? 1];
  return (below + above) / 2;
}

/**
 * The factor by which an estimate is multiplied before it is shown: the median of what earlier tasks came to, of the
 * same voice where there are enough of them. It decides nothing: keys, limits and where a text is cut follow the fixed
 * table alone.
 *
 * @param records of finished tasks, in any order
 * @returns from 0.5 to 2; 1 where too little is known
 */
export function paceOf(records: readonly TaskRecord[], voice: string | null): number {
  const all = records.flatMap(spoken);
  const ofVoice = all.filter((one) => one.voice === voice);
  const ratios = (ofVoice.length >= MIN_TASKS ? ofVoice : all).map(({ ratio }) => ratio);
  if (ratios.length < MIN_TASKS) return 1;
  return Math.min(MAX_FACTOR, Math.max(1 / MAX_FACTOR, median(ratios)));
}

/** The same of this ledger's newest tasks; 1 where the ledger cannot be asked, for an estimate is not worth an error. */
export async function paceOfLedger(
  { ledger, log }: Pick<GenerationDeps, "ledger" | "log">,
  voice: string | null,
): Promise<number> {
  try {
    const records = await ledger.list({ accounts: "own", status: "succeeded", limit: MAX_TASKS });
    return paceOf(records, voice);
  } catch (error) {
    log.debug(`an estimate was not calibrated: ${String(error)}`);
    return 1;
  }
}
