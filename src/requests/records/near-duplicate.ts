/**
 * Finds an open request that differs only in quotation marks, white space or case. A model that retypes a text after a
 * time-out would otherwise pay twice.
 */
import { z } from "zod";
import { isRunningStatus } from "../../contract/audio-task.ts";
import { deriveRequestFingerprint } from "../../ledger/identity.ts";
import type { RequestRecord } from "../../ledger/record.ts";
import type { RequestDeps } from "../deps.ts";
import type { PreparedRequest } from "./resolve-record.ts";

/**
 * Maximum age of the open request. If the open request is older, a call with the same words is probably meant as a new
 * request.
 */
const MAX_AGE_MS = 10 * 60 * 1000;
/**
 * How many of the newest records are compared, at most. More records than this are rarely made within {@link
 * MAX_AGE_MS}.
 */
const MAX_COMPARED_RECORDS = 20;

const QUOTATION_MARKS = /["'`´“”„‟«»‘’‚‛‹›「」『』]/gu;

const inputSchema = z.looseObject({ prompt: z.string() });

/**
 * Normalizes an input: removes quotation marks, and unifies white space, case and equivalent characters (NFKC). Returns
 * `null` if the input is unreadable.
 */
function normalizeForComparison(input: string | null): string | null {
  try {
    const { prompt, ...settings } = inputSchema.parse(JSON.parse(input ?? ""));
    const words = prompt.normalize("NFKC").replace(QUOTATION_MARKS, "").replace(/\s+/gu, " ").toLowerCase();
    return JSON.stringify([words, settings]);
  } catch {
    return null;
  }
}

export interface NearDuplicate {
  readonly record: RequestRecord;
  readonly note: string;
}

/**
 * Finds an open request with nearly the same text from the last few minutes.
 *
 * @returns `null` if there is none, or if the ledger already has this very request
 */
export async function findNearDuplicate(
  { ledger, clock }: Pick<RequestDeps, "ledger" | "clock">,
  { input, take }: PreparedRequest,
): Promise<NearDuplicate | null> {
  if (
    (await ledger.findByFingerprint(deriveRequestFingerprint(ledger.identity.baseUrl, input, take))).length >
    0
  )
    return null;
  const wantedInput = normalizeForComparison(input);
  const record = (await ledger.list({ apiKeys: "own", limit: MAX_COMPARED_RECORDS })).find(
    (other) =>
      other.take === take &&
      (other.status === "unresolved" || isRunningStatus(other.status)) &&
      clock.wallMs() - other.createdAtMs < MAX_AGE_MS &&
      normalizeForComparison(other.input) === wantedInput,
  );
  if (record === undefined) return null;
  const note = `This task was made a few minutes ago for a text that differs only in quotation marks, blanks or case; nothing new was sent. If another is wanted: the same call with take ${take + 1}, which is paid.`;
  return { record, note };
}
