/** Measures times, and defines the rows of the bench's table. */
import { z } from "zod";

const goalSchema = z.object({
  /**
   * The number that must be at most `atMost`: the ratio of our figure to the reference, the difference between the
   * two, or our figure alone.
   */
  of: z.enum(["ratio", "difference", "ours"]),
  atMost: z.number(),
});

export const rowsSchema = z.array(
  z.object({
    name: z.string(),
    unit: z.enum(["ms", "s", "MiB"]),
    ours: z.number(),
    comparedWith: z.string(),
    reference: z.number(),
    /** The goal of the row. A row without a goal is only shown. */
    goal: goalSchema.optional(),
  }),
);
export type Row = z.infer<typeof rowsSchema>[number];

type Measure = () => number | Promise<number>;

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[(sorted.length - 1) / 2] ?? Number.NaN;
}

/**
 * Measures two things in alternation, so that a machine that slows down slows both. The first round warms both up
 * and does not count.
 *
 * @param rounds odd, so that the median is a run that took place
 */
export async function compare(
  rounds: number,
  ours: Measure,
  reference: Measure,
): Promise<Pick<Row, "ours" | "reference">> {
  const values: { ours: number[]; reference: number[] } = { ours: [], reference: [] };
  for (let round = -1; round < rounds; round += 1) {
    const measured = { ours: await ours(), reference: await reference() };
    if (round < 0) continue;
    values.ours.push(measured.ours);
    values.reference.push(measured.reference);
  }
  return { ours: median(values.ours), reference: median(values.reference) };
}

/** Runs a function. Returns the milliseconds that it took. */
export async function timed(run: () => unknown): Promise<number> {
  const beganAtMs = performance.now();
  await run();
  return performance.now() - beganAtMs;
}

/** Prints the rows of a bench script as JSON. `run.ts`, which starts the script, reads them. */
export function report(rows: readonly Row[]): void {
  process.stdout.write(JSON.stringify(rows));
}
