/**
 * Finds audio of the same text with other pronunciations, because a change of pronunciation rules alone must not cause
 * a payment.
 */
import type { Deadline } from "../../deadline.ts";
import { deriveRequestFingerprint } from "../../ledger/identity.ts";
import { type RequestRecord, restoreOriginalInput } from "../../ledger/record.ts";
import { canonicalizeInput } from "../canonical-input.ts";
import type { RequestDeps } from "../deps.ts";
import type { PartRequest } from "../use-cases/generate-part.ts";
import { findSaved } from "./find-saved.ts";
import { adoptTaskIfVisible, type PreparedRequest, type ResolvedRecord } from "./resolve-record.ts";

/** Whether the record's submission was sent and its task has not failed. */
const mayBeCharged = ({ status }: RequestRecord): boolean => status !== "waiting" && status !== "failed";

/**
 * Finds a paid record that has the same text and take number, but other pronunciations. If a record belongs to another
 * API key and its audio is not on this machine, adopts the task of the record. Skips the record if this API key cannot
 * see the task.
 *
 * @param exactMatch the record with the present pronunciations
 * @returns `null` if there is none, or if `exactMatch` is already paid or saved
 * @throws AudioError if the service cannot be queried about the task of another API key
 */
export async function findOtherPronunciation(
  deps: RequestDeps,
  { input, originalPrompt, take }: PreparedRequest,
  exactMatch: ResolvedRecord,
  signal: AbortSignal,
  deadline: Deadline,
): Promise<ResolvedRecord | null> {
  if (exactMatch.file !== null || mayBeCharged(exactMatch.record)) return null;
  const { baseUrl, apiKeyId } = deps.ledger.identity;
  const fingerprint = deriveRequestFingerprint(baseUrl, restoreOriginalInput(input, originalPrompt), take);
  for (const other of await deps.ledger.findByOriginalFingerprint(fingerprint)) {
    if (other.input === input || !mayBeCharged(other)) continue;
    const savedFile = await findSaved(deps, other, null);
    const file = savedFile?.matchesFormat === true ? savedFile : null;
    const usableRecord =
      file !== null || other.apiKeyId === apiKeyId
        ? other
        : await adoptTaskIfVisible(deps, other, signal, deadline);
    if (usableRecord === null || !mayBeCharged(usableRecord)) continue;
    return { record: usableRecord, file, notes: [buildOtherPronunciationNote(take)] };
  }
  return null;
}

const buildOtherPronunciationNote = (take: number): string =>
  `This is what was made of this text before its pronunciations changed. Only if the user wants it spoken anew: the same call with take ${take + 1}, which is paid for.`;

/** Whether a part's text has been paid for, but never with the present pronunciations. */
export async function hasOtherPronunciation(
  { ledger }: Pick<RequestDeps, "ledger">,
  { input: partInput, originalPrompt = null, take }: PartRequest,
): Promise<boolean> {
  const input = canonicalizeInput(partInput);
  const fingerprint = deriveRequestFingerprint(
    ledger.identity.baseUrl,
    restoreOriginalInput(input, originalPrompt),
    take,
  );
  const chargeableRecords = (await ledger.findByOriginalFingerprint(fingerprint)).filter(mayBeCharged);
  return chargeableRecords.length > 0 && chargeableRecords.every((record) => record.input !== input);
}
