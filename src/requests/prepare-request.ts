/** Builds what identifies a request and what is sent for it, and the row of a request that is not stored yet. */
import type { ObservedTask } from "../api/parse-task.ts";
import type { AudioInput } from "../contract/audio-input.ts";
import type { Wording } from "../errors.ts";
import { assertFileName } from "../files/file-name.ts";
import {
  deriveExternalTaskFingerprint,
  deriveRequestFingerprint,
  deriveRequestId,
} from "../ledger/identity.ts";
import { deriveLooseFingerprint } from "../ledger/kinship.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { FRESH_REQUEST } from "../ledger/request-rows.ts";
import type { RequestRow } from "../ledger/schema.ts";
import { describeRespelledWords, describeUnusedWords, type Pronunciation } from "../pronunciation.ts";
import { describeLanguageMismatch } from "../text-language.ts";
import { canonicalizeInput } from "./canonical-input.ts";
import type { RequestDeps } from "./deps.ts";
import { toObservedPatch } from "./job.ts";
import { respellInput } from "./respelled-input.ts";

/** What identifies a request, and what is sent for it. */
export interface RequestContent {
  /** Canonical input, exactly as sent. */
  readonly body: string;
  readonly loose: string;
  readonly fingerprint: string;
  /** The text after the call's own pronunciations; `null` if the body has it. */
  readonly asked: string | null;
  /** The text as the user wrote it; `null` if the body has it. */
  readonly written: string | null;
  readonly take: number;
}

/** A request of a call, with sentences for its result. */
export interface PreparedRequest extends RequestContent {
  readonly notes: readonly Wording[];
}

export interface GenerateRequest {
  readonly input: AudioInput;
  /** The rules of the call, which come before those of the settings. */
  readonly callPronunciations: readonly Pronunciation[];
  /** The rules of the call and of the settings. */
  readonly pronunciations: readonly Pronunciation[];
  readonly take: number;
  readonly fileName: string | null;
  readonly mayReplace: boolean;
  /** Sentences about the text for the result. */
  readonly notes?: readonly Wording[];
}

/**
 * Makes all checks of a request that need no ledger.
 *
 * @throws AudioError `invalid_file_name`, `request_too_large`, `invalid_request` for a text that becomes too long
 */
export function prepareRequest(
  baseUrl: string,
  { input, callPronunciations, pronunciations, take, fileName, notes = [] }: GenerateRequest,
): PreparedRequest {
  if (fileName !== null) assertFileName(fileName);
  const spoken = respellInput(input, pronunciations);
  const asked = respellInput(input, callPronunciations);
  const body = canonicalizeInput(spoken.input);
  const writtenPrompt = input.prompt.trim();
  const spokenPrompt = spoken.input.prompt.trim();
  const askedPrompt = asked.input.prompt.trim();
  return {
    body,
    written: writtenPrompt === spokenPrompt ? null : writtenPrompt,
    asked: askedPrompt === spokenPrompt ? null : askedPrompt,
    loose: deriveLooseFingerprint(baseUrl, body, writtenPrompt, take),
    fingerprint: deriveRequestFingerprint(baseUrl, body, take),
    take,
    notes: [
      ...notes,
      ...describeRespelledWords(spoken.words),
      ...describeUnusedWords(callPronunciations, asked.words),
      ...describeLanguageMismatch(input.prompt, input.voice ?? ""),
    ],
  };
}

/** Builds the row of a request of which nothing was sent. */
export function buildNewRequest(
  { identity, clock }: Ledger,
  { body, loose, fingerprint, asked, written, take }: RequestContent,
  isListed: boolean,
): RequestRow {
  const nowMs = clock.wallMs();
  return {
    ...FRESH_REQUEST,
    id: deriveRequestId(fingerprint, identity.apiKeyId),
    base_url: identity.baseUrl,
    api_key_id: identity.apiKeyId,
    ...{ fingerprint, loose, body, written, asked, take },
    is_listed: Number(isListed),
    created_at_ms: nowMs,
    updated_at_ms: nowMs,
  };
}

/** Builds the row of a task that was made outside this ledger, and that it did not pay for. */
export function buildExternalRequest(
  { ledger: { identity, clock } }: Pick<RequestDeps, "ledger">,
  taskId: string,
  task: ObservedTask,
): RequestRow {
  const fingerprint = deriveExternalTaskFingerprint(identity.baseUrl, taskId);
  const nowMs = clock.wallMs();
  const empty: RequestRow = {
    ...FRESH_REQUEST,
    id: deriveRequestId(fingerprint, identity.apiKeyId),
    base_url: identity.baseUrl,
    api_key_id: identity.apiKeyId,
    fingerprint,
    ...{ loose: null, body: null, written: null, asked: null, take: null },
    is_listed: 1,
    is_paid: 0,
    created_at_ms: nowMs,
    updated_at_ms: nowMs,
  };
  return { ...empty, ...toObservedPatch(task, empty, nowMs) };
}
