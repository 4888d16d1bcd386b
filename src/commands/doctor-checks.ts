/** Building blocks for the checks of `doctor`: results and time limits. */
import { AudioError } from "../errors.ts";
import { describeCause } from "../log.ts";
import { findRemedy } from "../server/remedies.ts";
import { describeError } from "./terminal-messages.ts";

export interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  readonly fix: string | null;
  /** Whether the check passed but something needs attention. */
  readonly warning?: boolean;
}

/** Time limit of every check. */
export const TIMEOUT_MS = 8_000;
/** Time limit of connecting, the proxy included. It ends before the check, so that the check names what did not answer. */
export const CONNECT_MS = 5_000;

export const passedCheck = (name: string, detail: string): Check => ({ name, ok: true, detail, fix: null });
/**
 * Builds the result of a check that passed although something needs attention. A warning does not make `doctor` exit
 * with 1.
 */
export const warnedCheck = (name: string, detail: string): Check => ({
  ...passedCheck(name, detail),
  warning: true,
});
export const failedCheck = (name: string, detail: string, fix: string): Check => ({
  name,
  ok: false,
  detail,
  fix,
});

/**
 * Builds the result of a check that failed with an error. For an AudioError, `fix` is its remedy. For other errors, `fix` only refers to the detail and the README.
 */
export function failedCheckFromError(name: string, error: unknown): Check {
  if (!(error instanceof AudioError)) {
    return failedCheck(
      name,
      describeCause(error),
      "The detail says what to change; the README explains each setting.",
    );
  }
  return failedCheck(name, describeError(error), findRemedy(error, "terminal"));
}

/** Runs a check, which returns its detail if it passes. A check that does not end in time counts as failed. */
export async function checkWithTimeout(
  name: string,
  fix: string,
  check: () => Promise<string | Check>,
): Promise<Check> {
  const hanging = Promise.withResolvers<Check>();
  const timer = setTimeout(
    () => hanging.resolve(failedCheck(name, `no answer within ${TIMEOUT_MS / 1000} seconds`, fix)),
    TIMEOUT_MS,
  );
  const run = check().then(
    (found) => (typeof found === "string" ? passedCheck(name, found) : found),
    (error: unknown) => failedCheckFromError(name, error),
  );
  try {
    return await Promise.race([run, hanging.promise]);
  } finally {
    clearTimeout(timer);
  }
}
