/** The interface of narrations: plans a text before anything is spent, then makes its parts and joins them to files. */
import { isCancelledByCaller } from "../call-cancellation.ts";
import { AudioError } from "../errors.ts";
import { assertFileName } from "../files/file-name.ts";
import { listFiles } from "../ledger/file-rows.ts";
import { findNarration, type NarrationSnapshot } from "../ledger/narration-rows.ts";
import {
  cancelWish,
  noteHeardPart,
  renameNarration,
  stopNarration,
  wantNarration,
} from "../ledger/narration-writes.ts";
import { NARRATION_STATUSES, type NarrationRow } from "../ledger/schema.ts";
import { endWish } from "../ledger/wishes.ts";
import { secretRefusedError } from "../redaction.ts";
import type { Call } from "../requests/call.ts";
import type { Search } from "../search-words.ts";
import { areTold, type Consents, findConsents, isLimitTold } from "./consents.ts";
import { type ListedNarration, listNarrations } from "./listed-narrations.ts";
import {
  describeNothingToStop,
  findOrPlanNarration,
  loadNarrationById,
  type NarrateSource,
  unknownNarrationError,
} from "./load-narration.ts";
import { type CalledNarration, type NarrateChanges, NarrationAnswers } from "./narration-answers.ts";
import type { NarrationDeps } from "./narration-deps.ts";
import { assertRoomForNames } from "./narration-file-names.ts";
import { buildNarrationFiles, type NarrationFile } from "./narration-files.ts";
import { isNarrationId } from "./narration-id.ts";
import { NarrationJoiner } from "./narration-joiner.ts";
import type { NarrationView, ViewedNarration } from "./narration-view.ts";
import { NarrationWait } from "./narration-wait.ts";
import { isFileComplete } from "./part-status.ts";
import { type PartsView, PartTimes } from "./part-times.ts";
import { applyRetakes, isQuoteOnlyRetake } from "./parts.ts";
import { PlanDocuments } from "./plan-documents.ts";
import { listPlannedFiles } from "./planned-files.ts";
import { NarrationRounds } from "./rounds.ts";
import { sweepPlaylists } from "./running-playlist.ts";

/** What tools use of the operations. */
export type Narrations = Pick<NarrationOperations, keyof NarrationOperations>;

/** Lists the files that a narration had before the call. */
const listUnchangedPaths = (
  { files, isSheet }: NarrationView,
  before: NarrationSnapshot["files"],
): string[] =>
  files.flatMap(({ audio: { path, sha256 } }) =>
    isSheet && before.some((file) => file.path === path && file.sha256 === sha256) ? [path] : [],
  );

/** Whether a call chooses other takes or speeds of parts, or does otherwise with failed parts. */
const wantsOtherParts = (
  { choices, before: { narration } }: CalledNarration,
  { shouldSkipFailed }: NarrateChanges,
): boolean =>
  choices.length > 0 || (shouldSkipFailed !== null && shouldSkipFailed !== (narration.skip_failed === 1));

/** Begins a plan with the reasons why the call did not make it, although its limit suffices. */
const withReasons = (plan: NarrationView, { reasons }: Consents): NarrationView => ({
  ...plan,
  note: `${plan.note === undefined ? "" : `${plan.note} `}Asked first: ${reasons.join(" ")}`,
  remarks: plan.remarks.filter(({ sentence }) => !reasons.includes(sentence)),
});

/** The operations on narrations. Start no narration, not even an unfinished one, before a call asks for it. */
export class NarrationOperations {
  readonly #deps: NarrationDeps;
  readonly #rounds: NarrationRounds;
  readonly #joiner: NarrationJoiner;
  readonly #times: PartTimes;
  readonly #answers: NarrationAnswers;
  readonly #waiting: NarrationWait;

  constructor(depsWithoutPlans: Omit<NarrationDeps, "plans">) {
    const deps = { ...depsWithoutPlans, plans: new PlanDocuments(depsWithoutPlans.ledger.database) };
    this.#deps = deps;
    this.#rounds = new NarrationRounds(deps);
    this.#joiner = new NarrationJoiner(deps, new AbortController().signal);
    this.#times = new PartTimes(deps);
    this.#answers = new NarrationAnswers(deps, (id) => this.#rounds.isRunning(id));
    this.#waiting = new NarrationWait(deps, this.#rounds, this.#answers);
    void sweepPlaylists(deps.folder, deps.partsFolder, deps.clock);
  }

  /**
   * Plans, continues or stops a narration, or reports its status. Waits while the narration runs, at most until the
   * call's wait ends.
   *
   * @throws AudioError `invalid_request`, `not_found`, `store_unavailable`. Problems of parts are not thrown; the
   *   result lists them
   */
  async narrate(source: NarrateSource, changes: NarrateChanges, call: Call): Promise<NarrationView> {
    const called = await this.#load(source, changes);
    const { narration, before } = called;
    call.signal.throwIfAborted();
    const planToApprove = await this.#findPlanToApprove(source, called, changes);
    if (planToApprove !== null) {
      if (narration.status === "planned") await this.#rename(narration, changes);
      return planToApprove;
    }
    const { goesOn, wishId } = await this.#want(source, called, changes, call);
    const waits = call.waitMs > 0 && !changes.shouldStop;
    if (goesOn && waits) this.#goOn(narration.id);
    try {
      if (waits) await this.#waiting.wait(called, call);
    } finally {
      await this.#endCall(narration.id, wishId, call);
    }
    let view: NarrationView;
    try {
      view = await this.#answers.buildAnswer(called, await this.#answers.read(narration.id), changes);
    } finally {
      // A call that does not wait is answered first, because the loop would take its turns at the ledger.
      if (goesOn && !waits) this.#goOn(narration.id);
    }
    const wasFinished = before.narration.status === "finished";
    const chargedByCall = view.credits.charged - Math.round(before.bill.charged);
    const isRepeat = wasFinished && chargedByCall === 0;
    return {
      ...view,
      isRepeat,
      keptPaths: isRepeat ? [] : wasFinished ? listUnchangedPaths(view, before.files) : view.keptPaths,
      hasQuoteOnlyRetake: changes.retakes.some(isQuoteOnlyRetake),
      chargedByCall: wasFinished && chargedByCall > 0 ? chargedByCall : undefined,
    };
  }

  /**
   * Takes back what a call wants that was answered as an MCP task, whichever process it is of. What is paid for is
   * saved and joined all the same.
   */
  async cancel(wishId: string): Promise<void> {
    await this.#cancel({ wish: wishId });
  }

  async #cancel(which: Parameters<typeof cancelWish>[1]): Promise<void> {
    const narrationId = await cancelWish(this.#deps.ledger, which);
    if (narrationId !== null) this.#goOn(narrationId);
  }

  /**
   * Lists the narrations that a search finds, newest first; all narrations if it is `null`.
   */
  async list(search: Search | null, limit: number): Promise<ListedNarration[]> {
    return await listNarrations(this.#deps, (id) => this.#rounds.isRunning(id), { search, limit });
  }

  /**
   * Reports how a narration stands, with each of its parts.
   *
   * @throws AudioError `not_found`
   */
  async look(narrationId: string): Promise<{ view: NarrationView; viewed: ViewedNarration }> {
    const { plan } = await loadNarrationById(this.#deps, narrationId);
    const viewed = this.#answers.toViewed(await this.#answers.read(narrationId), plan);
    return { view: await this.#answers.buildView(viewed), viewed };
  }

  /**
   * Reports each part of a narration with its times.
   *
   * @param heardPart the position of the part that the caller listens to, so that parts from there on are made first
   * @throws AudioError `not_found`
   */
  async lookAtParts(narrationId: string, heardPart: number | null): Promise<PartsView> {
    const { view, viewed } = await this.look(narrationId);
    const heard = heardPart === null ? null : Math.min(heardPart, viewed.states.length - 1);
    if (heard !== null && heard !== viewed.narration.heard_part)
      await noteHeardPart(this.#deps.ledger, narrationId, heard);
    return { view, viewed, times: await this.#times.compute(viewed, view) };
  }

  /**
   * Makes the captions of a saved part, as WebVTT whose times begin with the part.
   *
   * @throws AudioError `not_found`
   */
  async makePartCaptions(narrationId: string, number: number): Promise<string> {
    const { viewed } = await this.look(narrationId);
    const { makePartCaptions } = await import("./companions.ts");
    return await makePartCaptions(this.#deps, viewed, number);
  }

  /**
   * Finds a file of a narration by its number. The first file is number 1.
   *
   * @throws AudioError `not_found`
   */
  async findFileByNumber(narrationId: string, number: number): Promise<NarrationFile> {
    // An address that names no narration is not found; nobody has made a mistake in an argument.
    if (!isNarrationId(narrationId)) throw unknownNarrationError(narrationId);
    const { narration, plan } = await loadNarrationById(this.#deps, narrationId);
    const rows = await listFiles(this.#deps.ledger, [narrationId]);
    const file = buildNarrationFiles(rows, narration, plan)[number - 1];
    if (file === undefined) throw new AudioError("not_found", "The narration has no such file.");
    return file;
  }

  /** Ends the loops of this process. Closes nothing of what they work with. */
  async close(): Promise<void> {
    await this.#rounds.close();
  }

  // ---- what a call means ----

  async #load(
    source: NarrateSource,
    { fileName, maxCredits, retakes, shouldStop }: NarrateChanges,
  ): Promise<CalledNarration> {
    const { ledger, folder } = this.#deps;
    if (fileName !== null) assertFileName(fileName);
    if (fileName !== null && this.#deps.containsSecret(fileName)) throw secretRefusedError("The file name");
    const loaded = await findOrPlanNarration(this.#deps, source);
    const { narration, plan } = loaded;
    if (maxCredits !== null) {
      const named = { ...narration, file_name: fileName ?? narration.file_name };
      await assertRoomForNames(folder, { narration: named, plan });
    }
    const before = await this.#answers.read(narration.id);
    const choices = applyRetakes(ledger.identity.baseUrl, plan, before.parts, retakes);
    const chosen = choices.length === 0 ? before : await this.#answers.preview(before, choices);
    const positions = new Set(choices.map(({ position }) => position));
    const { status } = before.narration;
    const isNothingToStop = shouldStop && (status === "planned" || status === "finished");
    return {
      ...loaded,
      ...(isNothingToStop && { note: await describeNothingToStop(ledger, status) }),
      before,
      choices,
      consents: await findConsents(this.#deps, { ...chosen, narration: before.narration }, plan, positions),
    };
  }

  /**
   * Returns the plan if a person must decide before the narration starts or goes on; `null` if no decision is needed. A
   * decision is needed if the first limit is unlikely to suffice and no answer has named it, if a limit is unlikely to
   * suffice for what a call changes in a finished narration, or if no answer has told a sentence that needs consent.
   */
  async #findPlanToApprove(
    source: NarrateSource,
    called: CalledNarration,
    changes: NarrateChanges,
  ): Promise<NarrationView | null> {
    const { maxCredits, shouldStop } = changes;
    const { narration } = called.before;
    if (shouldStop || maxCredits === null) return null;
    const mustTell = !areTold(narration, called.consents);
    // What is finished must not become unfinished by a limit that pays for a part of the change.
    const isReopened = narration.status === "finished" && wantsOtherParts(called, changes);
    const isFirst = narration.status === "planned";
    const isAgreed =
      changes.takesAnyLimit === true ||
      !(isFirst || isReopened) ||
      (isFirst &&
        (source.kind === "narration" || changes.isTypedAgain === true) &&
        isLimitTold(narration, maxCredits));
    if (isAgreed && !mustTell) return null;
    const plan = await this.#answers.buildAnswer(
      called,
      called.before,
      { ...changes, maxCredits: null },
      maxCredits,
    );
    const isToPay = plan.credits.estimate > plan.credits.charged;
    if (!isAgreed && isToPay && maxCredits < plan.credits.leastMax)
      return { ...plan, refusedLimit: maxCredits, isReopened };
    return mustTell ? withReasons(plan, called.consents) : null;
  }

  // ---- what a call wants ----

  async #rename({ id, file_name }: NarrationRow, { fileName }: NarrateChanges): Promise<void> {
    if (fileName !== null && fileName !== file_name) await renameNarration(this.#deps.ledger, id, fileName);
  }

  /**
   * Stores what the call wants. Only a call with `max_credits` allows spending. A call without it may set the file name,
   * lets what is paid for be joined, and continues a narration whose process has ended within its earlier limit.
   *
   * @returns whether the narration has to be driven, and the id of the call's wish; `null` if it has none
   */
  async #want(
    source: NarrateSource,
    called: CalledNarration,
    changes: NarrateChanges,
    { handle, waitMs }: Call,
  ): Promise<{ readonly goesOn: boolean; readonly wishId: string | null }> {
    const { ledger } = this.#deps;
    const { narration, isWantedHere } = called.before;
    const { id, status } = narration;
    const { maxCredits, fileName, mayReplace, shouldSkipFailed } = changes;
    if (changes.shouldStop) {
      await stopNarration(ledger, id);
      return { goesOn: status === "running" || status === "stopped", wishId: null };
    }
    // The call of an MCP task is run again after its process has ended; it starts nothing a second time.
    const isResumed = handle !== undefined && narration.started_at_ms >= handle.openedAtMs;
    const wishKind = handle !== undefined ? "handle" : waitMs > 0 ? "call" : "self";
    const handleId = handle?.id ?? null;
    const nothingMore = { skipsFailed: null, choices: [], agreed: [] };
    const want = { fileName, mayReplace, wishKind, handleId, ...nothingMore } as const;
    if (maxCredits !== null && (await this.#isUnchanged(called, changes)))
      return { goesOn: false, wishId: null };
    if (maxCredits !== null && !isResumed) {
      const { choices, consents } = called;
      const limit = { maxCredits, choices, agreed: consents.pairs, skipsFailed: shouldSkipFailed };
      const wishId = await wantNarration(ledger, id, { ...want, ...limit, from: NARRATION_STATUSES });
      return { goesOn: true, wishId };
    }
    const isNamed = fileName !== null && fileName !== narration.file_name;
    const isFinished = status === "finished";
    const takesNames = isFinished && mayReplace && called.choices.length === 0;
    const isInterrupted = status === "running" && this.#answers.deriveStatus(called.before) === "stopped";
    // What nobody has agreed to is told first, by the plan of a call with a limit.
    const isAgreed = called.consents.pairs.length === 0;
    const mayResume = source.kind === "narration" && source.mayResume === true && isAgreed;
    const goesOn =
      status === "stopped" ||
      (isFinished && isNamed) ||
      (takesNames && !(await this.#isUnchanged(called, changes))) ||
      (status === "running" && (isResumed || (isInterrupted && mayResume)));
    if (goesOn) {
      const wishId = await wantNarration(ledger, id, { ...want, maxCredits: null, from: [status] });
      return { goesOn, wishId };
    }
    await this.#rename(narration, changes);
    // A loop of this process has ended if the ledger that knows the narration was away, and another one in its place.
    return { goesOn: this.#rounds.isRunning(id) ? isNamed : isWantedHere, wishId: null };
  }

  /** Whether a narration is finished, its files are there, and a call wants nothing else of it. */
  async #isUnchanged(called: CalledNarration, changes: NarrateChanges): Promise<boolean> {
    const { before, plan } = called;
    const { fileName, mayReplace } = changes;
    const { narration } = before;
    const isSame = (fileName ?? narration.file_name) === narration.file_name;
    if (narration.status !== "finished" || !isSame || wantsOtherParts(called, changes)) return false;
    const { states } = this.#answers.toViewed(before, plan);
    for (const file of listPlannedFiles(plan)) {
      const join = { narration, plan, file, states, isComplete: true, mayReplace };
      if (!isFileComplete(file, states) || !(await this.#joiner.isThere(join))) return false;
    }
    return true;
  }

  /** Lets a narration be driven, as its newest call wants it. */
  #goOn(narrationId: string): void {
    this.#rounds.ensure(narrationId);
    this.#deps.driver.wake();
  }

  /**
   * Ends the wish of a call: it is withdrawn if the caller has cancelled, and goes on by itself if the narration still
   * runs. A cancelled call that has only waited ends what goes on by itself here. An MCP task keeps its wish for the
   * process that resumes it.
   */
  async #endCall(
    narrationId: string,
    wishId: string | null,
    { signal, handle, waitMs }: Call,
  ): Promise<void> {
    const { ledger, driver, log } = this.#deps;
    if (signal.aborted && isCancelledByCaller(signal.reason)) {
      const which = wishId === null ? { narration: narrationId } : { wish: wishId };
      await driver.endWish(wishId ?? narrationId, () => this.#cancel(which));
      return;
    }
    if (wishId === null) return;
    try {
      const isRunning = (await findNarration(ledger, narrationId))?.status === "running";
      if (!isRunning) await endWish(ledger, wishId, "withdrawn");
      else if (handle === undefined && waitMs > 0) await endWish(ledger, wishId, "self");
    } catch (error) {
      log.debug(`the wish of a call could not be ended: ${String(error)}`);
    }
  }
}
