/** The interface of narrations: a plan before anything is spent, then parts, then the joined files. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { isCancelledByCaller } from "../call-cancellation.ts";
import type { Clock } from "../clock.ts";
import type { CaptionFiles } from "../config/config.ts";
import { Deadline } from "../deadline.ts";
import { AudioError } from "../errors.ts";
import { checkFileName } from "../files/file-name.ts";
import type { InputText } from "../files/input-format.ts";
import type { OutputFolder } from "../files/output-folder.ts";
import type { HandleOperations, HandleOrView } from "../generation/handles/handle-status.ts";
import type { Call } from "../generation/job/wait-for-job.ts";
import { ownerOf as nameOwner } from "../generation/name-owner.ts";
import type { PartWork } from "../generation/use-cases/generate-part.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { TaskRecord } from "../ledger/record.ts";
import type { HandleDraft } from "../ledger/rules/handles.ts";
import type { Log } from "../log.ts";
import type { Pronunciation } from "../pronunciation.ts";
import { secretRefused } from "../redaction.ts";
import { isLanguageNote } from "../text-language.ts";
import { choosesAnew, goingOn, type NarrateChanges, previewed, stopped, wanted } from "./changes.ts";
import type { Edit } from "./edits.ts";
import { inheritedTakes } from "./inherited-takes.ts";
import { checkRoomForNames, createJoinedFiles, type JoinDeps, stemOf } from "./joined-files.ts";
import { MAX_SEARCHED, type NarrationRow, rowsOf } from "./list-row.ts";
import type { PlanSettings } from "./make-plan.ts";
import { callCancelled, leftByOthers, openNarrationHandle, withCaller } from "./narration-callers.ts";
import { NarrationDriver, type NarrationDriverDeps } from "./narration-driver.ts";
import { NarrationHandles } from "./narration-handles.ts";
import { isNarrationId, narrationIdOf } from "./narration-id.ts";
import { type ComputeFigures, type KnownNarration, NarrationRepository } from "./narration-repository.ts";
import { type NarrationFile, type NarrationState, type StoredPlan, withRemarks } from "./narration-state.ts";
import { figuresOf, type NarrationView, statusOf, viewOf, withoutMissing } from "./narration-view.ts";
import { progressOf } from "./narration-words.ts";
import { partRequest, takeOf } from "./part-request.ts";
import { type PartStatus, type PartSummary, summarizeParts } from "./part-summary.ts";
import { isUsualRetake } from "./retakes.ts";
import { likelyLate } from "./timeline/late-cues.ts";

export type { NarrateChanges } from "./changes.ts";

export type NarrateSource =
  /** An edit of a narration: a new narration that shares the unchanged parts. */
  | {
      readonly kind: "edited";
      readonly narrationId: string;
      readonly edits: readonly Edit[];
      readonly pronunciations: readonly Pronunciation[];
    }
  /** Some chapters of a narration: a new narration of these parts. */
  | { readonly kind: "chosen"; readonly narrationId: string; readonly chapters: string }
  /** @param fileName the name of the file that was read; absent for a text */
  | {
      readonly kind: "text";
      readonly source: InputText;
      readonly fileName?: string;
      readonly options: PlanSettings;
    }
  /** @param mayGoOn whether to continue, within its limit, a narration whose process has ended */
  | { readonly kind: "narration"; readonly narrationId: string; readonly mayGoOn?: boolean };

/** One row of the table of parts. */
export interface NarrationPart {
  readonly number: number;
  readonly text: string;
  readonly chapter: string | null;
  readonly take: number;
  readonly status: PartStatus;
  readonly record: TaskRecord | null;
}

export interface Narrations {
  /**
   * Plans, continues or stops a narration, or reports its status. Waits while it runs, at most until the call's wait
   * ends.
   *
   * @throws AudioError `invalid_request`, `not_found`, `store_unavailable`. Problems of parts are in the view instead
   */
  narrate(source: NarrateSource, changes: NarrateChanges, call: Call): Promise<NarrationView>;
  /**
   * Like `narrate`, for a client that supports the tasks extension: if audio is to be made,
   * the narration continues after the call.
   */
  start(source: NarrateSource, changes: NarrateChanges, call: Call): Promise<HandleOrView<NarrationView>>;
  readonly handles: HandleOperations<NarrationView>;
  /** Lists narrations that contain every word of the query, newest first, with their last stored status. */
  list(query: string | null, limit: number): Promise<NarrationRow[]>;
  /** Reports the status of each part. @throws AudioError `not_found` */
  parts(narrationId: string): Promise<{ readonly view: NarrationView; readonly parts: NarrationPart[] }>;
  /** Finds a file of a narration by its number, from 1. @throws AudioError `not_found` */
  fileOf(narrationId: string, number: number): Promise<NarrationFile>;
  /** Finds the file of a narration at a path; `null` if there is none. */
  fileAt(path: string): Promise<NarrationFile | null>;
  close(): Promise<void>;
}

/** A narration, and whether this call has planned it for the first time. */
type FoundNarration = KnownNarration & { readonly isNew?: true };

export interface NarrationsDeps {
  readonly ledger: Ledger;
  readonly parts: PartWork;
  readonly folder: OutputFolder;
  readonly clock: Clock;
  readonly log: Log;
  readonly captionFiles: CaptionFiles;
  /** Whether a text contains the API key or a password of the settings. */
  readonly holdsSecret: (text: string) => boolean;
}

/** Number of newest narrations whose files a new one may replace. */
const MAX_OWNERS = 50;

/** Interval at which a call reads a narration that another process drives. */
const FOLLOW_MS = 1000;

export function createNarrations(deps: NarrationsDeps): Narrations {
  const { ledger, parts, folder, clock, log, captionFiles, holdsSecret } = deps;
  const partSummaryOf = async ({ narrationId, plan, state }: KnownNarration): Promise<PartSummary> =>
    await summarizeParts(parts, plan, state, await repository.bill(narrationId));
  const computeFigures: ComputeFigures = async (known) =>
    figuresOf(known, await partSummaryOf(known), clock.wallMs());
  const repository = new NarrationRepository(ledger.store.narrations, () => clock.wallMs(), computeFigures);
  const { origin, keyId, processId } = ledger.identity;
  const ownerOf: JoinDeps["ownerOf"] = async (name) => {
    const path = join(folder.root, name);
    for (const { narrationId, state } of await repository.newest(MAX_OWNERS)) {
      const file = state.files.find((saved) => saved.path === path);
      if (file !== undefined) return { narrationId, file, companions: file };
    }
    const owner = await nameOwner({ ledger, folder }, name);
    return owner === null ? null : { narrationId: null, file: owner.file, companions: null };
  };
  const joined = createJoinedFiles({ folder, ownerOf, clock, captionFiles });
  const driverDeps: NarrationDriverDeps = {
    repository,
    parts,
    joined,
    clock,
    log,
    processId,
    leaseTtlMs: ledger.leaseTtlMs,
  };
  const drivers = new Map<string, NarrationDriver>();
  let isClosed = false;

  const known = async (narrationId: string): Promise<KnownNarration> => {
    if (isNarrationId(narrationId)) return await repository.get(narrationId);
    throw new AudioError(
      "invalid_request",
      "narration_id must be an id that narrate returned: nar_ and 32 letters and digits.",
    );
  };

  /** Loaded on first use, because only planning reads texts. */
  const planOf = async (source: Exclude<NarrateSource, { kind: "narration" }>): Promise<StoredPlan> => {
    if (source.kind === "text") {
      const { planText } = await import("./plan-text.ts");
      const plan = await planText(source.source, source.options);
      return source.fileName === undefined ? plan : { ...plan, sourceName: source.fileName };
    }
    const { plan, state } = await known(source.narrationId);
    const { remarks, unspoken } = state;
    const current = { ...plan, remarks, unspoken };
    if (source.kind === "chosen") {
      const { chosenPlan } = await import("./chosen-plan.ts");
      return chosenPlan(current, source.chapters);
    }
    const { editedPlan } = await import("./edits.ts");
    return editedPlan(current, source.edits, source.pronunciations, state.takes);
  };

  const find = async (source: NarrateSource): Promise<FoundNarration> => {
    if (source.kind === "narration") return await known(source.narrationId);
    const plan = await planOf(source);
    // Checks the planned text, because markup, entities or invisible characters may hide a secret in the input.
    if (holdsSecret(JSON.stringify(plan))) throw secretRefused("The text, as it is read, holds");
    const narrationId = narrationIdOf(origin, plan);
    const takes = await inheritedTakes(repository, plan);
    if (await repository.knows(narrationId)) {
      await repository.change(narrationId, (state) => {
        const current = withRemarks(state, plan);
        // Adopts takes that were chosen since the first plan, as long as nobody has agreed to that plan.
        const isOpen = state.status === "planned" && JSON.stringify(state.takes) !== JSON.stringify(takes);
        return isOpen ? { ...current, takes } : current;
      });
      return await repository.get(narrationId);
    }
    const fileName = source.kind === "edited" ? await nameOfEdit(source.narrationId) : null;
    await repository.begin(narrationId, plan, { takes, fileName, createdAtMs: clock.wallMs() });
    return { ...(await repository.get(narrationId)), isNew: true };
  };

  /** An edited narration has the name of the first one, so that it can replace that file. */
  const nameOfEdit = async (narrationId: string): Promise<string | null> => {
    const { plan, state } = await repository.get(narrationId);
    return plan.files === "rows" ? state.fileName : stemOf(narrationId, plan, state);
  };

  /** Reports paid parts that are made anew because pronunciations changed. */
  const madeAnew = async ({ plan, state }: KnownNarration): Promise<string[]> => {
    let count = 0;
    for (const index of plan.parts.keys()) {
      if (await parts.hasOtherPronunciation(partRequest(plan, state, index))) count += 1;
    }
    if (count === 0) return [];
    const which = count === 1 ? "1 part that is paid for was" : `${count} parts that are paid for were`;
    return [`${which} spoken with other pronunciations, and would be made anew.`];
  };

  const currentView = async (narrationId: string, changes: NarrateChanges): Promise<NarrationView> => {
    const stored = await repository.get(narrationId);
    // A driver that has just begun may not have its lease yet.
    const known = {
      ...stored,
      leaseOwner: stored.leaseOwner ?? (drivers.has(narrationId) ? processId : null),
    };
    const state = previewed(known.state, changes, known.plan);
    const partSummary = await partSummaryOf({ ...known, state });
    const view = viewOf({ ...known, state }, partSummary, clock.wallMs());
    const shown = await withoutMissing(view, folder.root);
    if (shown.status !== "planned") return shown;
    const late = await likelyLate(parts, known.plan, state, partSummary.records);
    return {
      ...shown,
      toRepeat: [
        ...(state === stored.state ? [] : ["the same retakes"]),
        ...(changes.replaces ? ["replace true"] : []),
      ],
      remarks: [...shown.remarks, ...late, ...(await madeAnew(known))],
    };
  };

  /** Drives the narration in this process until it ends. Waits if another process has the lease. */
  const start = (narrationId: string): void => {
    if (isClosed) return;
    const running = drivers.get(narrationId);
    if (running !== undefined) {
      // The running driver may be about to end without having seen this request.
      void running.end
        .then(async () => {
          if (drivers.has(narrationId) || isClosed) return;
          if ((await repository.entry(narrationId)).state.status === "running") start(narrationId);
        })
        .catch((error: unknown) => log.debug(String(error)));
      return;
    }
    const driver = new NarrationDriver(driverDeps, narrationId);
    drivers.set(narrationId, driver);
    void driver.end.then(() => {
      drivers.delete(narrationId);
      // The other driver may end early, and this process still wants the narration.
      if (driver.hasLostLease) start(narrationId);
    });
  };

  /** Waits while any process drives the narration. */
  const wait = async (narrationId: string, call: Call): Promise<void> => {
    const deadline = new Deadline(clock, call.waitMs);
    for (;;) {
      call.signal.throwIfAborted();
      const entry = await repository.entry(narrationId);
      const driver = drivers.get(narrationId);
      if (statusOf(entry) !== "running" && driver === undefined) return;
      const { chargedCredits } = await repository.bill(narrationId);
      const { savedParts, totalParts } = entry.state;
      const progress = progressOf(entry.state, chargedCredits, clock.wallMs());
      call.onProgress(progress, { done: savedParts, total: totalParts });
      if (deadline.isOver) return;
      await nextNews(driver, Math.min(FOLLOW_MS, deadline.leftMs), call.signal);
    }
  };

  /** Resolves with the next event of this process's driver, or after an interval, because another process may drive it. */
  const nextNews = async (
    driver: NarrationDriver | undefined,
    ms: number,
    signal: AbortSignal,
  ): Promise<void> => {
    const answered = new AbortController();
    const sleeping = clock.sleep(ms, AbortSignal.any([signal, answered.signal])).catch(() => undefined);
    let stopListening = (): void => undefined;
    const news = new Promise<void>((resolve) => {
      if (driver !== undefined) stopListening = driver.listen(resolve);
    });
    await Promise.race([sleeping, news]);
    stopListening();
    answered.abort();
  };

  const handles = new NarrationHandles({
    repository,
    computeFigures,
    clock,
    store: ledger.store,
    processId,
    isRunningHere: (narrationId) => drivers.has(narrationId),
    start,
    refresh: (narrationId, state) => drivers.get(narrationId)?.refresh(state),
  });

  /** Stores what a call wants, and starts to drive it. @param draft the handle for a call that is answered with one */
  const storeAndDrive = async (
    { narrationId, leaseOwner: driver }: KnownNarration,
    change: (state: NarrationState) => NarrationState,
    draft: HandleDraft | null = null,
  ) => {
    const isLeft = driver === null && !drivers.has(narrationId);
    const changed = await repository.changeHandle(narrationId, (current, open) => ({
      state: change(isLeft ? leftByOthers(current, processId) : current),
      handle: draft === null ? null : openNarrationHandle(open, draft),
    }));
    drivers.get(narrationId)?.refresh(changed.state);
    if (isLeft || changed.state.status === "running") start(narrationId);
    return changed;
  };

  /**
   * Applies the changes of a call. Only a limit allows spending. Without one, a call may set a name, continue a
   * narration whose process has ended, within its limit, and have saved parts joined.
   */
  const applyCall = async (source: NarrateSource, known: KnownNarration, changes: NarrateChanges) => {
    const { narrationId, plan, state } = known;
    const { fileName, maxCredits } = changes;
    if (changes.stop) {
      await storeAndDrive(known, stopped);
      return;
    }
    if (maxCredits !== null) {
      await storeAndDrive(known, (before) => withCaller(wanted(before, changes, plan), processId));
      return;
    }
    const isNamed = fileName !== null && fileName !== state.fileName;
    const named = (before: NarrationState): NarrationState => (isNamed ? { ...before, fileName } : before);
    const isLeft = state.status === "running" && known.leaseOwner === null && !drivers.has(narrationId);
    if (isLeft && source.kind === "narration" && source.mayGoOn === true) await storeAndDrive(known, named);
    else if (state.status === "finished" ? isNamed : await isReadyToJoin(known)) {
      await storeAndDrive(known, (before) => goingOn(named(before)));
    } else if (isNamed) {
      const renamed = await repository.change(narrationId, named);
      drivers.get(narrationId)?.refresh(renamed);
    }
  };

  /** Whether a stopped narration can be joined without permission, because all its parts are saved. */
  const isReadyToJoin = async (known: KnownNarration): Promise<boolean> => {
    if (statusOf(known) !== "stopped" || drivers.has(known.narrationId)) return false;
    return (await partSummaryOf(known)).statuses.every((status) => status === "saved");
  };

  /** Finds the narration of a call, and checks its file names before anything is sent. */
  const findChecked = async (source: NarrateSource, { fileName, maxCredits }: NarrateChanges) => {
    if (fileName !== null) checkFileName(fileName);
    if (fileName !== null && holdsSecret(fileName)) throw secretRefused("The file name holds");
    const known = await find(source);
    const { state } = known;
    if (maxCredits !== null) {
      await checkRoomForNames(folder, {
        ...known,
        state: { ...state, fileName: fileName ?? state.fileName },
      });
    }
    return known;
  };

  const narrate: Narrations["narrate"] = async (source, changes, call) => {
    const known = await findChecked(source, changes);
    const { narrationId, state: before } = known;
    const { chargedCredits } = await repository.bill(narrationId);
    call.signal.throwIfAborted();
    const first = await planFirst(source, known, changes);
    if (first !== null) {
      // The limit is refused, but the file name is kept.
      await applyCall(source, known, { ...changes, maxCredits: null });
      return first;
    }
    await applyCall(source, known, changes);
    try {
      if (call.waitMs > 0 && !changes.stop) await wait(narrationId, call);
    } catch (error) {
      if (call.signal.aborted && changes.maxCredits !== null && isCancelledByCaller(call.signal.reason))
        await cancel(narrationId);
      throw error;
    }
    const view = await currentView(narrationId, changes);
    const wasFinished = before.status === "finished";
    const chargedByCall = view.credits.charged - Math.round(chargedCredits);
    return {
      ...view,
      isRepeat: wasFinished && chargedByCall === 0,
      hasUsualRetake: changes.retakes.some(isUsualRetake),
      chargedByCall: wasFinished && chargedByCall > 0 ? chargedByCall : null,
    };
  };

  /**
   * Answers a first limit with the plan, so that a person decides: if the limit is low, or if nobody has seen yet that a
   * voice does not speak the text's language, or that paid parts would be made anew because pronunciations changed.
   */
  const planFirst = async (
    source: NarrateSource,
    known: FoundNarration,
    changes: NarrateChanges,
  ): Promise<NarrationView | null> => {
    const { maxCredits } = changes;
    if (source.kind === "narration" || known.state.status !== "planned" || maxCredits === null) return null;
    const view = await currentView(known.narrationId, changes);
    if (maxCredits < view.credits.suggestedMax) return { ...view, refusedLimit: maxCredits };
    if (known.isNew !== true) return null;
    return view.remarks.some(isLanguageNote) || (await madeAnew(known)).length > 0 ? view : null;
  };

  return {
    narrate,
    handles,
    async start(source, changes, call) {
      const known = await findChecked(source, changes);
      call.signal.throwIfAborted();
      const isThere = known.state.status === "finished" && !choosesAnew(known.state, changes, known.plan);
      const first = await planFirst(source, known, changes);
      if (changes.stop || changes.maxCredits === null || isThere || first !== null) {
        return { view: await narrate(source, changes, call) };
      }
      const { narrationId: targetId, plan } = known;
      const draft = { handle: randomUUID(), keyId, targetId, openedAtMs: clock.wallMs() };
      const { state, handle } = await storeAndDrive(known, (before) => wanted(before, changes, plan), draft);
      if (handle === null) throw new Error("a handle was asked for, and not opened");
      return { working: await handles.working(handle, state) };
    },
    async list(query, limit) {
      const countSaved = async (known: KnownNarration): Promise<number> =>
        (await partSummaryOf(known)).statuses.filter((status) => status === "saved").length;
      return await rowsOf(repository, folder.root, countSaved, { query, limit });
    },
    async parts(narrationId) {
      const known = await find({ kind: "narration", narrationId });
      const { plan, state } = known;
      const partSummary = await partSummaryOf(known);
      return {
        view: viewOf(known, partSummary, clock.wallMs()),
        parts: plan.parts.map(({ text, section }, index) => ({
          number: index + 1,
          text,
          chapter: plan.sections[section]?.title ?? null,
          take: takeOf(state, index),
          status: partSummary.statuses[index] ?? "open",
          record: partSummary.records[index] ?? null,
        })),
      };
    },
    fileOf: (narrationId, number) => repository.file(narrationId, number),
    async fileAt(path) {
      const all = await repository.newest(MAX_SEARCHED);
      return all.flatMap(({ state }) => state.files).find((file) => file.path === path) ?? null;
    },
    async close() {
      isClosed = true;
      for (const driver of drivers.values()) driver.leave();
      await Promise.all([...drivers.values()].map(({ end }) => end));
    },
  };

  async function cancel(narrationId: string): Promise<void> {
    const state = await repository.change(narrationId, (before, open) =>
      callCancelled(before, open, processId),
    );
    drivers.get(narrationId)?.refresh(state);
  }
}
