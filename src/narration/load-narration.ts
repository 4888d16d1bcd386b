/** Finds the narration that a call means, and plans it if it is new. */
import { isDeepStrictEqual } from "node:util";
import { AudioError } from "../errors.ts";
import type { NarrationInput } from "../files/input-format.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { findNarration, findNarrationByPlan, listParts } from "../ledger/narration-rows.ts";
import { renewChoices, storeNarration } from "../ledger/narration-writes.ts";
import { findPredecessor, listWantedNarrations } from "../ledger/related-narrations.ts";
import type { NarrationRow, PartRow } from "../ledger/schema.ts";
import type { Pronunciation } from "../pronunciation.ts";
import { secretRefusedError } from "../redaction.ts";
import type { NarrationDeps } from "./narration-deps.ts";
import { buildFileStem, deriveNameOfSource } from "./narration-file-names.ts";
import { deriveNarrationId, derivePlanHash, isNarrationId } from "./narration-id.ts";
import { alignInputs, buildPartRows, changePlan, type Origins, takeOverChoices } from "./parts.ts";
import type { PlanDocuments } from "./plan-documents.ts";
import type { PlanOptions } from "./planning/build-stored-plan.ts";
import type { Edit } from "./planning/edits.ts";
import type { StoredPlan } from "./planning/stored-plan.ts";

export type NarrateSource =
  /** Edits of a stored narration. They make a new narration, which shares the unchanged parts with the stored one. */
  | {
      readonly kind: "edited";
      readonly narrationId: string;
      readonly edits: readonly Edit[];
      readonly pronunciations: readonly Pronunciation[];
    }
  /** Chapters that are chosen from a stored narration. They become a new narration. */
  | { readonly kind: "chosen"; readonly narrationId: string; readonly chapters: string }
  /** A text or a file. `sourceName` is the name of the file; absent for a text. */
  | {
      readonly kind: "text";
      readonly input: NarrationInput;
      readonly sourceName?: string | undefined;
      readonly options: PlanOptions;
    }
  /**
   * A stored narration. If `mayResume` is set and the process that drove the narration has ended, the call continues
   * the narration within the `max_credits` of an earlier call.
   */
  | {
      readonly kind: "narration";
      readonly narrationId: string;
      readonly mayResume?: boolean;
    };

export interface LoadedNarration {
  readonly narration: NarrationRow;
  readonly plan: StoredPlan;
  /** A sentence about which narration this is, if it is not the one of the given text to the letter. */
  readonly note?: string;
}

/**
 * Reads a stored narration.
 *
 * @throws AudioError `invalid_request` for a text that is not an id; `not_found`, `store_unavailable`
 */
export async function loadNarrationById(
  { ledger, plans }: Pick<NarrationDeps, "ledger" | "plans">,
  narrationId: string,
): Promise<LoadedNarration> {
  if (!isNarrationId(narrationId)) {
    throw new AudioError(
      "invalid_request",
      "narration_id must be an id that narrate returned: nar_ and 32 letters and digits.",
    );
  }
  const narration = await findNarration(ledger, narrationId);
  if (narration === undefined) throw unknownNarrationError(narrationId);
  return { narration, plan: await plans.read(narrationId) };
}

export function unknownNarrationError(narrationId: string): AudioError {
  return new AudioError("not_found", `No narration of this service is called ${narrationId}.`, {
    remedy:
      "list_tasks shows the narrations of this ledger. Called with the same text and settings, narrate finds it too, and pays for nothing twice.",
  });
}

/** Says after a stop that this narration does not run, and names those that somebody may have meant. */
export async function describeNothingToStop(ledger: Ledger, status: "planned" | "finished"): Promise<string> {
  const running = (await listWantedNarrations(ledger)).map(({ id }) => id);
  const which = running.length === 0 ? "None is running." : `Running: ${running.join(", ")}.`;
  return `Nothing was stopped: this narration ${status === "planned" ? "has not begun" : "was finished already"}. ${which}`;
}

/** A plan that a call has made, and the older narration whose choices it takes over. */
interface PlannedText {
  readonly plan: StoredPlan;
  /** The narration that was edited, or whose chapters were chosen; absent for a text, which is compared by its parts. */
  readonly base?: NarrationRow;
  /** The parts of `base` that the parts of the plan are. */
  readonly origins?: Origins;
  /**
   * The name of the file that the text was read from. An edit has the name of its narration, so that the new file can
   * replace the old one.
   */
  readonly fileName: string | null;
}

/** Makes the plan of a source. Loads each planner on first use, because most calls need none. */
async function planSource(
  deps: NarrationDeps,
  source: Exclude<NarrateSource, { kind: "narration" }>,
): Promise<PlannedText> {
  if (source.kind === "text") {
    const { planWithoutBlocking } = await import("./planning/thread/plan-without-blocking.ts");
    const plan = await planWithoutBlocking(source.input, source.options);
    const { sourceName } = source;
    const named = sourceName === undefined ? plan : { ...plan, sourceName };
    return { plan: named, fileName: deriveNameOfSource(named) };
  }
  const { narration: base, plan } = await loadNarrationById(deps, source.narrationId);
  if (source.kind === "chosen") {
    const { keepChosenChapters } = await import("./planning/planned-chapters.ts");
    const change = (before: StoredPlan): StoredPlan => keepChosenChapters(before, source.chapters);
    const chosen = changePlan(plan, change);
    return { ...chosen, base, fileName: deriveNameOfSource(chosen.plan) };
  }
  const { applyEdits } = await import("./planning/edits.ts");
  const speeds = (await listParts(deps.ledger, base.id)).map(({ speed }) => speed);
  const change = (before: StoredPlan): StoredPlan =>
    applyEdits(before, source.edits, source.pronunciations, speeds);
  const fileName = plan.fileLayout === "rows" ? base.file_name : buildFileStem(base, plan);
  return { ...changePlan(plan, change), base, fileName };
}

/**
 * Finds the narration of a source; plans and stores it if it is new.
 *
 * @throws AudioError `invalid_request`, `not_found`, `store_unavailable`
 */
export async function findOrPlanNarration(
  deps: NarrationDeps,
  source: NarrateSource,
): Promise<LoadedNarration> {
  if (source.kind === "narration") return await loadNarrationById(deps, source.narrationId);
  const { ledger, plans, containsSecret } = deps;
  const { baseUrl, apiKeyId } = ledger.identity;
  const planned = await planSource(deps, source);
  // Check the planned text, because markup, entities or invisible characters may hide a secret in the input.
  if (containsSecret(JSON.stringify(planned.plan))) throw secretRefusedError("The text, as it is read,");
  const planHash = derivePlanHash(baseUrl, planned.plan);
  const known = await findNarrationByPlan(ledger, planHash);
  const stored = known && (await plans.read(known.id));
  if (known !== undefined && stored !== undefined && known.status !== "planned") {
    const { remarks, unspoken } = planned.plan;
    const plan = { ...stored, remarks, unspoken };
    await writeIfNew(plans, known.id, stored, plan);
    await takeBack(ledger, known, planned);
    return { narration: known, plan };
  }
  const id = known?.id ?? deriveNarrationId(planHash, apiKeyId);
  const rows = buildPartRows(baseUrl, id, planned.plan);
  const retyped = await findRetypedNarration(deps, rows, planned.plan);
  if (retyped !== null) return retyped;
  const { predecessor, parts } = await takeOver(ledger, rows, planned);
  // Nobody has agreed to what the earlier plan of this text calls it.
  await writeIfNew(plans, id, stored, planned.plan);
  const narration = await storeNarration(
    ledger,
    {
      id,
      base_url: baseUrl,
      api_key_id: known?.api_key_id ?? apiKeyId,
      plan_hash: planHash,
      title: planned.plan.title,
      status: "planned",
      max_credits: null,
      run: 0,
      revision: 0,
      problem: null,
      file_name: planned.fileName,
      skip_failed: 0,
      heard_part: 0,
      predecessor,
      told: "[]",
      started_at_ms: 0,
      owner: null,
      lease_until_steady_ms: 0,
      created_at_ms: ledger.clock.wallMs(),
    },
    parts,
    stored === undefined ? null : deriveNameOfSource(stored),
  );
  return { narration, plan: await plans.get(id) };
}

/** Gives the parts of a plan the choices of the older narration that it comes from. */
async function takeOver(
  ledger: Ledger,
  rows: readonly PartRow[],
  { plan, base, origins }: PlannedText,
): Promise<{ readonly predecessor: string | null; readonly parts: readonly PartRow[] }> {
  const id = rows[0]?.narration ?? "";
  const inputs = rows.map(({ input }) => input);
  const predecessor = base?.id ?? (await findPredecessor(ledger, inputs, id));
  if (predecessor === null) return { predecessor, parts: rows };
  const older = await listParts(ledger, predecessor);
  const olderInputs = older.map(({ input }) => input);
  const mapping = origins ?? alignInputs(olderInputs, inputs);
  return {
    predecessor: predecessor === id ? null : predecessor,
    parts: takeOverChoices(ledger.identity.baseUrl, plan, rows, older, mapping),
  };
}

/**
 * Gives a narration that a change has led back to what was chosen meanwhile for the parts that the change keeps. The
 * older narration's own choices stay where the other one has the first take at the plan's speed.
 */
async function takeBack(
  ledger: Ledger,
  { id, started_at_ms: startedAtMs }: NarrationRow,
  { plan, base, origins }: PlannedText,
): Promise<void> {
  if (base === undefined || origins === undefined || base.started_at_ms <= startedAtMs) return;
  const parts = await listParts(ledger, id);
  const kept = parts.filter(({ position }) => origins[position] !== undefined);
  const renewed = takeOverChoices(
    ledger.identity.baseUrl,
    plan,
    kept,
    await listParts(ledger, base.id),
    origins,
  ).filter((row) => row.fingerprint !== row.input && row.fingerprint !== parts[row.position]?.fingerprint);
  if (renewed.length > 0) await renewChoices(ledger, id, renewed);
}

/** Stores a plan, unless the stored one is the same. */
async function writeIfNew(
  plans: PlanDocuments,
  narrationId: string,
  stored: StoredPlan | undefined,
  plan: StoredPlan,
): Promise<void> {
  if (!isDeepStrictEqual(stored, plan)) await plans.write(narrationId, plan);
}

const RETYPED_NOTE =
  "This text differs from that of a running narration only in quotation marks, blanks, case or the form of characters, so this is that narration; nothing is paid twice.";

/**
 * Finds the narration that is being made of a text that differs only in quotation marks, blanks, case or Unicode form.
 * Texts with other pauses, chapters or files are other narrations, and so are texts whose pronunciations alone differ.
 */
async function findRetypedNarration(
  { ledger, plans }: NarrationDeps,
  rows: readonly PartRow[],
  plan: StoredPlan,
): Promise<LoadedNarration | null> {
  const id = rows[0]?.narration ?? "";
  for (const narration of await listWantedNarrations(ledger)) {
    // A plan that cannot be read is no reason to refuse another text.
    const other = await plans.get(narration.id).catch(() => null);
    if (other === null || narration.id === id || deriveShape(other) !== deriveShape(plan)) continue;
    // Those of the plan, because the parts may have other takes by now.
    const otherRows = buildPartRows(ledger.identity.baseUrl, narration.id, other);
    const isSame = rows.every(({ loose }, index) => loose === otherRows[index]?.loose);
    const isOtherText = rows.some(({ input }, index) => input !== otherRows[index]?.input);
    const isTyping = other.parts.some(({ text }, index) => text !== plan.parts[index]?.text);
    if (isSame && isOtherText && isTyping) return { narration, plan: other, note: RETYPED_NOTE };
  }
  return null;
}

const deriveShape = ({ fileLayout, chapters, parts }: StoredPlan): string =>
  JSON.stringify([
    fileLayout,
    parts.map(({ pauseAfterSeconds, chapterIndex, startSeconds }) => [
      pauseAfterSeconds,
      chapterIndex,
      startSeconds,
      chapters[chapterIndex]?.fileName,
    ]),
  ]);
