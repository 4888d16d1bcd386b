/**
 * Judges whether a text is one that a model has typed again, so that it would be paid for twice. The only place that
 * decides it: for calls, for parts of narrations, and for admission. Only compares; what is sent stays as it was given.
 */
import { createHash } from "node:crypto";
import { z } from "zod";
import { DAY_MS } from "../clock.ts";
import { parseJson } from "../parse-json.ts";
import type { Tx } from "./database.ts";
import type { OpenTransaction } from "./open-transaction.ts";
import { findRequestsByLoose } from "./request-rows.ts";
import type { NarrationRow, PartRow, RequestRow } from "./schema.ts";
import { isWanted } from "./wishes.ts";

/** Quotation marks, apostrophes and primes, and characters that nobody sees. */
const UNHEARD = /["'`´ʹʺʻʼˈ′″“”„‟«»‘’‚‛‹›「」『』\u00AD\u200B\u2060\uFEFF]/gu;

/** Folds quotation marks, blanks and Unicode form, but not case. */
const foldTyping = (text: string): string =>
  // Before the form is folded, because it makes a blank and a mark of some of them.
  text.replace(UNHEARD, "").normalize("NFKC").replace(UNHEARD, "").replace(/\s+/gu, " ").trim();

const bodySchema = z.looseObject({ prompt: z.string() });

/**
 * Derives the hash by which a retyped request is recognised. Settings and take count as they are.
 *
 * @param body canonical input
 * @param writtenPrompt the text as the user wrote it, before pronunciations
 */
export function deriveLooseFingerprint(
  baseUrl: string,
  body: string,
  writtenPrompt: string,
  take: number,
): string {
  const { prompt: _, ...settings } = bodySchema.parse(JSON.parse(body));
  const facts = [baseUrl, foldTyping(writtenPrompt).toLowerCase(), settings, take];
  return createHash("sha256").update(JSON.stringify(facts)).digest("hex").slice(0, 32);
}

/** How two texts of one loose fingerprint differ. `typing`: in quotation marks, blanks or Unicode form alone. */
export type TextDifference = "none" | "typing" | "case";

export function compareTexts(one: string, other: string): TextDifference {
  if (one === other) return "none";
  return foldTyping(one) === foldTyping(other) ? "typing" : "case";
}

type Texts = Pick<RequestRow, "body" | "written" | "asked">;

const readSent = ({ body }: Texts): string => parseJson(bodySchema, body)?.prompt ?? "";
const readWritten = (row: Texts): string => row.written ?? readSent(row);
const readAsked = (row: Texts): string => row.asked ?? readSent(row);

/**
 * Says whether a text would be paid for again. `open`: the service works on it or may, or it is about to be sent;
 * `recent`: made within the last day; `made`: made before.
 *
 * @param isWanted whether somebody wants it, if nothing of it was sent
 */
function decideStanding(
  row: RequestRow,
  isWanted: boolean,
  nowMs: number,
): "open" | "recent" | "made" | null {
  const isRecent = Math.abs(nowMs - (row.finished_at_ms ?? row.updated_at_ms)) < DAY_MS;
  const isBeingMade = row.task_id === null ? row.status === "unresolved" && isRecent : row.is_open === 1;
  // An error later does not undo a send: the service may be working on it all the same.
  if (isBeingMade || (row.status === "waiting" && isWanted && row.error_code === null)) return "open";
  if (row.status !== "succeeded" && row.status !== "saved") return null;
  return isRecent ? "recent" : "made";
}

// ---- calls ----

/** Why a call is given another request than the one that it names to the letter. */
export type Kinship =
  /** A text that differs in typing, and that somebody still wants or the service works on. */
  | "retyped_open"
  /** A text that differs in quotation marks, blanks or Unicode form, and whose audio was made within the last day. */
  | "retyped_saved"
  /** The same text with other pronunciations. */
  | "respelled";

/** Decides whether a request is most likely the one that a model means when it types a text again. */
export function decideKinship(
  row: RequestRow,
  fresh: RequestRow,
  isWanted: boolean,
  nowMs: number,
): Kinship | null {
  const standing = decideStanding(row, isWanted, nowMs);
  if (standing === null) return null;
  const difference = compareTexts(readWritten(row), readWritten(fresh));
  if (standing === "open") return difference === "none" ? "respelled" : "retyped_open";
  const askedDifference = compareTexts(readAsked(row), readAsked(fresh));
  // A changed rule of the settings alone pays nothing; a call that says how a word sounds asks for another text.
  if (difference === "none") return askedDifference === "none" ? "respelled" : null;
  return difference === "typing" && askedDifference === "typing" && standing === "recent"
    ? "retyped_saved"
    : null;
}

/** Finds a request of this API key that a model most likely means when it types the text again. */
export async function findKin(
  open: OpenTransaction,
  fresh: RequestRow,
): Promise<{ readonly row: RequestRow; readonly kinship: Kinship } | undefined> {
  if (fresh.loose === null) return undefined;
  for (const row of await findRequestsByLoose(open.tx, open.ledger, [fresh.loose], "own")) {
    if (row.id === fresh.id) continue;
    const isToCome = row.status === "waiting" && (await isWanted(open, row.id));
    const kinship = decideKinship(row, fresh, isToCome, open.ledger.clock.wallMs());
    if (kinship !== null) return { row, kinship };
  }
  return undefined;
}

// ---- parts of narrations ----

/** How a part repeats what was paid for, is being made or is about to be. */
export type Repetition = "pronunciation" | "typing";

/**
 * Decides whether a part repeats a request; `null` if it does not, or if the difference means another text.
 *
 * @param text the part's text as the user wrote it
 */
export function decideRepetition(
  row: RequestRow,
  text: string,
  isWanted: boolean,
  nowMs: number,
): Repetition | null {
  const standing = decideStanding(row, isWanted, nowMs);
  if (standing === null) return null;
  const repetition = compareRepetition(readWritten(row), text);
  return repetition === "typing" && standing === "made" ? null : repetition;
}

/** Says how a part would repeat a text that is about to be sent. */
export function compareRepetition(spoken: string, text: string): Repetition | null {
  const difference = compareTexts(spoken, text);
  if (difference === "case") return null;
  return difference === "none" ? "pronunciation" : "typing";
}

/** Names two requests of which one repeats the other, whichever came first. */
export const namePair = (one: Pick<PartRow, "fingerprint">, other: Pick<PartRow, "fingerprint">): string =>
  [one.fingerprint, other.fingerprint]
    .map((fingerprint) => fingerprint.slice(0, 12))
    .sort()
    .join("~");

/** What answers have told: sentences, pairs of requests, and limits that plans have named. */
const toldSchema = z.array(z.union([z.string(), z.number()]));

type Told = Pick<NarrationRow, "told">;

/** Parses what answers have told. A column that cannot be read has told nothing. */
export const parseTold = ({ told }: Told): ReadonlyArray<string | number> =>
  parseJson(toldSchema, told) ?? [];

/** A pair is agreed to by a call that lets credits be spent after an answer has told it. */
const toAgreed = (pair: string): string => `agreed ${pair}`;

export const addAgreed = (narration: Told, pairs: readonly string[]): string =>
  JSON.stringify([...new Set([...parseTold(narration), ...pairs.map(toAgreed)])]);

export function areAgreed(narration: Told, pairs: readonly string[]): boolean {
  const known = new Set(parseTold(narration));
  return pairs.every((pair) => known.has(toAgreed(pair)));
}

// ---- admission ----

/** The texts of a narration are compared with those of others, and not with each other. */
const isOwnPart = async (tx: Tx, narrationId: string, fingerprint: string): Promise<boolean> =>
  (await tx
    .selectFrom("agm_part")
    .select("position")
    .where("narration", "=", narrationId)
    .where("fingerprint", "=", fingerprint)
    .executeTakeFirst()) !== undefined;

async function hasAgreed(tx: Tx, narrationId: string | null, pair: string): Promise<boolean> {
  if (narrationId === null) return false;
  const narration = await tx
    .selectFrom("agm_narration")
    .select("told")
    .where("id", "=", narrationId)
    .executeTakeFirst();
  return narration !== undefined && areAgreed(narration, [pair]);
}

/**
 * Finds a request whose text a submission would pay for again, although nobody has agreed to it: it was sent after the
 * submission's call had looked.
 *
 * @param payer the narration that would pay; `null` for the callers of the request
 */
export async function findUnagreed(
  { tx, ledger }: OpenTransaction,
  row: RequestRow,
  payer: string | null,
): Promise<RequestRow | null> {
  if (row.loose === null) return null;
  const nowMs = ledger.clock.wallMs();
  for (const other of await findRequestsByLoose(tx, ledger, [row.loose], "own")) {
    if (other.fingerprint === row.fingerprint) continue;
    const repeats =
      payer === null
        ? decideKinship(other, row, false, nowMs)
        : decideRepetition(other, readWritten(row), false, nowMs);
    if (repeats === null || (payer !== null && (await isOwnPart(tx, payer, other.fingerprint)))) continue;
    const pair = namePair(row, other);
    if (!(await hasAgreed(tx, payer, pair)) && !(await hasAgreed(tx, other.payer, pair))) return other;
  }
  return null;
}
