/** Defines the errors of joining: a part that cannot be read as its format, and parts that cannot share a file. */
import type { OutputFormat } from "../contract/audio-format.ts";
import { AudioError } from "../errors.ts";

/** Maximum number of differences that a message names. The error's field `differences` has all of them. */
const MAX_NAMED_DIFFERENCES = 5;

const REMEDY =
  "Tell the user which part it is. The parts are kept as they are, each can be played alone, and nothing has to be paid again.";

/** Thrown if a part cannot be read as its stated format. */
export class DamagedPartError extends AudioError {
  /** Index of the part in the request. */
  readonly partIndex: number;
  /** The damage as a clause, such as "it ends in the middle of its header". */
  readonly why: string;

  constructor(partIndex: number, format: OutputFormat, why: string, cause?: unknown) {
    super("unexpected_response", `Part ${partIndex + 1} cannot be read as ${format}: ${why}.`, {
      remedy: REMEDY,
      cause,
    });
    this.partIndex = partIndex;
    this.why = why;
  }
}

/** A property in which a part differs from the other parts. */
export interface PartDifference {
  /** Index of the part in the request. */
  readonly partIndex: number;
  /** Name of the property in words, such as "sample rate". */
  readonly property: string;
  readonly value: string;
  /**
   * The property's value in the most common set of properties. If several sets are equally common, the earliest part's
   * set counts.
   */
  readonly commonValue: string;
  /** Index of the first part that has the most common set of properties. */
  readonly commonPartIndex: number;
}

/** Thrown if every part is valid, but the parts cannot share a file without re-encoding some of them. */
export class PartsDifferError extends AudioError {
  /** All differences, at least one, in the order of the parts. */
  readonly differences: readonly PartDifference[];

  constructor(differences: readonly PartDifference[]) {
    const namedTraits = differences
      .slice(0, MAX_NAMED_DIFFERENCES)
      .map(
        ({ partIndex, property, value, commonValue }) =>
          `part ${partIndex + 1} has ${property} ${value}, not ${commonValue}`,
      );
    const more =
      differences.length > MAX_NAMED_DIFFERENCES
        ? `, and ${differences.length - MAX_NAMED_DIFFERENCES} more`
        : "";
    super("unexpected_response", `The parts cannot go into one file: ${namedTraits.join("; ")}${more}.`, {
      remedy: REMEDY,
    });
    this.differences = differences;
  }
}

/** Properties that must be equal in all parts, with readable names and values. */
export type SharedProperties = Readonly<Record<string, string | number>>;

/** Returns the most common set of traits; among equally common ones, the first. */
function mostCommon(all: readonly SharedProperties[]): SharedProperties | undefined {
  const counts = new Map<string, { traits: SharedProperties; count: number }>();
  for (const traits of all) {
    const key = JSON.stringify(traits);
    const traitCount = counts.get(key) ?? { traits, count: 0 };
    traitCount.count += 1;
    counts.set(key, traitCount);
  }
  return [...counts.values()].reduce<{ traits: SharedProperties; count: number } | undefined>(
    (best, candidate) => (best === undefined || candidate.count > best.count ? candidate : best),
    undefined,
  )?.traits;
}

/**
 * Checks that all parts have equal traits.
 *
 * @param all the traits of each part, in order; every part has the same properties
 * @throws PartsDifferError with each difference from the most common traits
 */
export function assertSameProperties(all: readonly SharedProperties[]): void {
  const commonTraits = mostCommon(all) ?? {};
  const commonPartIndex = all.indexOf(commonTraits);
  const differences = all.flatMap((traits, partIndex) =>
    Object.entries(traits)
      .filter(([property, value]) => value !== commonTraits[property])
      .map(([property, value]) => ({
        partIndex,
        property,
        value: `${value}`,
        commonValue: `${commonTraits[property]}`,
        commonPartIndex,
      })),
  );
  if (differences.length > 0) throw new PartsDifferError(differences);
}
