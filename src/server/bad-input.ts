/** The sentence about wrong arguments: field, rule and the value's fault. */
import type { ZodError, z } from "zod";
import { firstCodePoints } from "../contract/unicode.ts";

const MAX_FAULTS = 5;
const MAX_VALUE_CODE_POINTS = 60;

function valueAt(args: unknown, path: readonly PropertyKey[]): unknown {
  let value = args;
  for (const step of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = Reflect.get(value, step);
  }
  return value;
}

function fieldName(path: readonly PropertyKey[]): string {
  return path
    .map((step, index) =>
      typeof step === "number" ? `[${step}]` : `${index === 0 ? "" : "."}${String(step)}`,
    )
    .join("");
}

/** The value as a person would quote it; long text is cut, and objects are only named. */
function quote(value: unknown): string {
  if (typeof value === "string") {
    const start = firstCodePoints(value, MAX_VALUE_CODE_POINTS);
    return JSON.stringify(start === value ? value : `${start}…`);
  }
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? "a list" : "an object";
  return String(value);
}

function describeIssue(issue: z.core.$ZodIssue, args: unknown, knownFields: readonly string[]): string {
  if (issue.code === "unrecognized_keys") {
    const names = issue.keys
      .slice(0, MAX_FAULTS)
      .map((key) => quote(key))
      .join(", ");
    return `unknown argument ${names}; the known ones are ${knownFields.join(", ")}`;
  }
  const field = fieldName(issue.path);
  if (field === "") return "the arguments must be an object";
  const value = valueAt(args, issue.path);
  // A rule across fields says by itself which of them it misses.
  if (value === undefined) return issue.code === "custom" ? issue.message : `${field} is required`;
  return `${field} ${issue.message} (got ${quote(value)})`;
}

/**
 * Every fault of the arguments in one sentence each.
 *
 * @param args what the client sent
 * @param knownFields the tool's argument names, told when an unknown one was sent
 */
export function describeBadInput(error: ZodError, args: unknown, knownFields: readonly string[]): string {
  // The first fault of a field is the one to mend; what follows from it would only confuse.
  const firsts = error.issues.filter(
    (issue, index) =>
      error.issues.findIndex((other) => fieldName(other.path) === fieldName(issue.path)) === index,
  );
  const faults = firsts.slice(0, MAX_FAULTS).map((issue) => describeIssue(issue, args, knownFields));
  return `${faults.join(". ")}.`;
}
