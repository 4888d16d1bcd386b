/** Defines the errors of joining: a part that cannot be read as its format, and parts that cannot share a file. */
import type { OutputFormat } from "../contract/audio-format.ts";
import { AudioError } from "../errors.ts";

/** Maximum number of differences that a message names. The error's field `differences` has all of them. */
const MAX_NAMED_DIFFERENCES = 5;

const PARTS_KEPT =
  "The parts are kept as they are, each can be played alone, and nothing has to be paid again.";
const PARTS_DIFFER_REMEDY = {
  assistant: `Tell the user which part it is. ${PARTS_KEPT}`,
  terminal: PARTS_KEPT,
};

/** Thrown if a part cannot be read as its stated format. */
export class DamagedPartError extends AudioError {
  /** Index of the part in the request. */
  readonly partIndex: number;
  /** The damage as a clause, such as "it ends in the middle of its header". */
  readonly why: string;

  constructor(partIndex: number, format: OutputFormat, why: string, cause?: unknown) {
    super("unexpected_response", `Part ${partIndex + 1} cannot be read as ${format}: ${why}.`, {
      remedy: PARTS_DIFFER_REMEDY,
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
  /** Value of the property in the part `commonPartIndex`. */
  readonly commonValue: string;
  /**
   * Index of the first part in the largest group of parts that have equal properties. If several groups are equally
   * large, the group with the earliest part is used.
   */
  readonly commonPartIndex: number;
}

/** Thrown if every part is valid, but the parts cannot share a file without re-encoding some of them. */
export class PartsDifferError extends AudioError {
  /** All differences, at least one, in the order of the parts. */
  readonly differences: readonly PartDifference[];

  constructor(differences: readonly PartDifference[]) {
    const namedDifferences = differences
      .slice(0, MAX_NAMED_DIFFERENCES)
      .map(
        ({ partIndex, property, value, commonValue }) =>
          `part ${partIndex + 1} has ${property} ${value}, not ${commonValue}`,
      );
    const more =
      differences.length > MAX_NAMED_DIFFERENCES
        ? `, and ${differences.length - MAX_NAMED_DIFFERENCES} more`
        : "";
    super(
      "unexpected_response",
      `The parts cannot go into one file: ${namedDifferences.join("; ")}${more}.`,
      {
        remedy: PARTS_DIFFER_REMEDY,
      },
    );
    this.differences = differences;
  }
}

/** Properties that must be equal in all parts, with readable names and values. */
export type SharedProperties = Readonly<Record<string, string | number>>;

/**
 * Checks that all parts have equal properties.
 *
 * @param describe returns the properties of a part; the names are the same for every part
 * @returns the first part
 * @throws PartsDifferError with each difference from the most common set of properties, or from the first of several
 *   sets that are equally common
 */
export function requireSameProperties<Part>(
  parts: readonly Part[],
  describe: (part: Part) => SharedProperties,
): Part {
  const all = parts.map(describe);
  const groups = [...Map.groupBy(all, (properties) => JSON.stringify(properties)).values()];
  const [common] = groups.toSorted((one, other) => other.length - one.length)[0] ?? [];
  const [first] = parts;
  if (first === undefined || common === undefined) throw new RangeError("there is no part to join");
  const commonPartIndex = all.indexOf(common);
  const differences = all.flatMap((properties, partIndex) =>
    Object.entries(properties)
      .filter(([property, value]) => value !== common[property])
      .map(([property, value]) => ({
        partIndex,
        property,
        value: `${value}`,
        commonValue: `${common[property]}`,
        commonPartIndex,
      })),
  );
  if (differences.length > 0) throw new PartsDifferError(differences);
  return first;
}
