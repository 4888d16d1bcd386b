/** Owns how the bench measures: repeated runs in turn, medians with their spread; knows nothing of what is measured. */

export interface Sample {
  readonly name: string;
  readonly unit: string;
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly runs: number;
}

export interface Verdict {
  readonly section: string;
  readonly figure: string;
  readonly value: string;
  readonly goal: string;
  readonly met: boolean | null;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

export function sample(name: string, unit: string, values: readonly number[]): Sample {
  return {
    name,
    unit,
    median: median(values),
    min: Math.min(...values),
    max: Math.max(...values),
    runs: values.length,
  };
}

export interface Contender {
  readonly name: string;
  measure(): Promise<number>;
}

/**
 * Measures contenders side by side, one run of each in turn, so that a drift of the machine meets all of them;
 * one round before the first is not counted.
 */
export async function sideBySide(
  contenders: readonly Contender[],
  unit: string,
  rounds: number,
): Promise<Sample[]> {
  const values = new Map<string, number[]>(contenders.map(({ name }) => [name, []]));
  for (let round = -1; round < rounds; round += 1) {
    for (const contender of contenders) {
      const value = await contender.measure();
      if (round >= 0) values.get(contender.name)?.push(value);
    }
  }
  return contenders.map(({ name }) => sample(name, unit, values.get(name) ?? []));
}

export function ratio(samples: readonly Sample[], name: string, reference: string): number {
  const of = (wanted: string): number =>
    samples.find((candidate) => candidate.name === wanted)?.median ?? Number.NaN;
  return of(name) / of(reference);
}

export function printSamples(title: string, samples: readonly Sample[]): void {
  console.log(`\n${title}`);
  for (const { name, unit, median: middle, min, max, runs } of samples) {
    console.log(
      `  ${name.padEnd(34)} ${middle.toFixed(2).padStart(10)} ${unit}   (${min.toFixed(2)} to ${max.toFixed(2)}, ${runs} runs)`,
    );
  }
}

function verdict(
  section: string,
  figure: string,
  value: number,
  goal: { readonly words: string; readonly isMet: boolean },
  unit: string,
): Verdict {
  const told = `${Number.isInteger(value) ? value : value.toFixed(3)}${unit}`;
  return { section, figure, value: told, goal: goal.words, met: Number.isNaN(value) ? null : goal.isMet };
}

export function atMost(section: string, figure: string, value: number, goal: number, unit = ""): Verdict {
  return verdict(section, figure, value, { words: `at most ${goal}${unit}`, isMet: value <= goal }, unit);
}

export function atLeast(section: string, figure: string, value: number, goal: number, unit = ""): Verdict {
  return verdict(section, figure, value, { words: `at least ${goal}${unit}`, isMet: value >= goal }, unit);
}
