/** The interface of narrations: plans a text before anything is spent, then makes its parts and joins them to files. */

import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { isCancelledByCaller } from "../call-cancellation.ts";
import type { Clock } from "../clock.ts";
import type { CaptionFiles } from "../config/settings.ts";
import type { OutputFolder } from "../files/output-folder.ts";
import { isIntact } from "../files/saved-copies.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { McpTaskDraft } from "../ledger/rules/mcp-task.ts";
import { MAX_NARRATIONS_SEARCHED, MAX_NARRATIONS_SEARCHED_FOR_REPLACEMENT } from "../ledger/search-limits.ts";
import type { Log } from "../log.ts";
import type { Call } from "../requests/call.ts";
import { findNameOwner } from "../requests/file-names/name-owner.ts";
import type { McpTaskOperations, StatusOrView } from "../requests/mcp-tasks/mcp-task-status.ts";
import type { PartOperations } from "../requests/use-cases/generate-part.ts";
import { DriverRegistry } from "./driving/driver-registry.ts";
import { createFileJoiner, type ServerSavedFile } from "./files/joined-files.ts";
import { NarrationMcpTasks } from "./narration-mcp-tasks.ts";
import {
  type LoadedNarration,
  type LoadNarrationDeps,
  loadOrPlanNarration,
  loadOrPlanWithCheckedName,
  type NarrateSource,
} from "./planning/load-or-plan-narration.ts";
import {
  reuseOrOpenNarrationMcpTask,
  withCaller,
  withCancelledCallsOf,
  withLocalLiveCallers,
} from "./state/narration-callers.ts";
import {
  type NarrateChanges,
  previewState,
  withNarrateCall,
  withResume,
  withStop,
  wouldChangeFiles,
} from "./state/narration-changes.ts";
import {
  type ComputeTotals,
  NarrationRepository,
  type NarrationWithPlan,
} from "./state/narration-repository.ts";
import type { NarrationFile, NarrationState } from "./state/narration-state.ts";
import { buildPartRequest, findChosenTake } from "./state/part-request.ts";
import { type PartSummary, summarizeParts } from "./state/part-summary.ts";
import { toRemarks } from "./state/remark.ts";
import { isQuoteOnlyRetake } from "./state/retakes.ts";
import { estimateLateRemarks } from "./timeline/late-cues.ts";
import { type ListedNarration, listNarrations } from "./views/listed-narrations.ts";
import {
  buildNarrationView,
  deriveNarrationStatus,
  deriveTotals,
  type NarrationView,
  withoutMissingFiles,
} from "./views/narration-view.ts";
import type { PartRow } from "./views/render-parts-table.ts";

export interface Narrations {
  /**
   * Plans, continues or stops a narration, or reports its status. Waits while the narration runs, at most until the
   * call's wait ends.
   *
   * @throws AudioError `invalid_request`, `not_found`, `store_unavailable`. Problems of parts are not thrown; the
   *   result lists them
   */
  narrate(source: NarrateSource, changes: NarrateChanges, call: Call): Promise<NarrationView>;
  /**
   * Works like `narrate`, for a client that supports the tasks extension. If audio must be made, returns an MCP task at
   * once. The narration then continues after the call.
   */
  narrateAsMcpTask(
    source: NarrateSource,
    changes: NarrateChanges,
    call: Call,
  ): Promise<StatusOrView<NarrationView>>;
  readonly mcpTaskOperations: McpTaskOperations<NarrationView>;
  /**
   * Lists the narrations that contain every word of the query, newest first. Lists all narrations if the query is
   * `null`.
   */
  list(query: string | null, limit: number): Promise<ListedNarration[]>;
  /**
   * Reports the status of each part.
   *
   * @throws AudioError `not_found`
   */
  listParts(narrationId: string): Promise<{ readonly view: NarrationView; readonly parts: PartRow[] }>;
  /**
   * Finds a file of a narration by its number. The first file is number 1.
   *
   * @throws AudioError `not_found`
   */
  findFileByNumber(narrationId: string, number: number): Promise<NarrationFile>;
  /** Finds a narration's file by its path; `null` if no narration has saved a file there. */
  findFileByPath(path: string): Promise<NarrationFile | null>;
  close(): Promise<void>;
}

export interface NarrationsDeps {
  readonly ledger: Ledger;
  readonly partOperations: PartOperations;
  readonly folder: OutputFolder;
  readonly clock: Clock;
  readonly log: Log;
  readonly captionFiles: CaptionFiles;
  /** Whether a text contains the API key or a password from the settings. */
  readonly containsSecret: (text: string) => boolean;
}

/**
 * Creates the operations on narrations. Starts no narration, not even an unfinished one, before a call asks for it.
 * `close` ends the drivers of this process, but closes nothing in `deps`.
 */
export const createNarrations = (deps: NarrationsDeps): Narrations => new NarrationOperations(deps);

class NarrationOperations implements Narrations {
  readonly mcpTaskOperations: NarrationMcpTasks;
  readonly #deps: NarrationsDeps;
  readonly #repository: NarrationRepository;
  readonly #drivers: DriverRegistry;
  readonly #loadDeps: LoadNarrationDeps;

  constructor(deps: NarrationsDeps) {
    const { ledger, folder, clock, log, partOperations, captionFiles, containsSecret } = deps;
    const { baseUrl, processId } = ledger.identity;
    const computeTotals: ComputeTotals = async (narration) =>
      deriveTotals(narration, await this.#summarizeParts(narration), clock.wallMs());
    const repository = new NarrationRepository(ledger.store.narrations, () => clock.wallMs(), computeTotals);
    const findServerSavedFile = (name: string): Promise<ServerSavedFile | null> =>
      this.#findServerSavedFile(name);
    const fileJoiner = createFileJoiner({ folder, findServerSavedFile, clock, captionFiles });
    const { leaseTtlMs } = ledger;
    const drivers = new DriverRegistry({
      repository,
      partOperations,
      fileJoiner,
      clock,
      log,
      processId,
      leaseTtlMs,
    });
    this.#deps = deps;
    this.#repository = repository;
    this.#drivers = drivers;
    this.#loadDeps = { repository, baseUrl, folder, clock, containsSecret };
    this.mcpTaskOperations = new NarrationMcpTasks({
      repository,
      drivers,
      computeTotals,
      clock,
      mcpTasks: ledger.store.mcpTasks,
      processId,
    });
  }

  async narrate(source: NarrateSource, changes: NarrateChanges, call: Call): Promise<NarrationView> {
    const narration = await loadOrPlanWithCheckedName(this.#loadDeps, source, changes);
    const { narrationId, state: before } = narration;
    const { chargedCredits } = await this.#repository.getBill(narrationId);
    call.signal.throwIfAborted();
    const planToApprove = await this.#findPlanToApprove(source, narration, changes);
    if (planToApprove !== null) {
      // Store the file name, but not `max_credits`. This call gets only the plan, so it must not allow any spending.
      await this.#applyChanges(source, narration, { ...changes, maxCredits: null });
      return planToApprove;
    }
    await this.#applyChanges(source, narration, changes);
    try {
      if (call.waitMs > 0 && !changes.shouldStop) await this.#drivers.wait(narrationId, call);
    } catch (error) {
      if (call.signal.aborted && changes.maxCredits !== null && isCancelledByCaller(call.signal.reason))
        await this.#cancelCall(narrationId);
      throw error;
    }
    const view = await this.#buildCurrentView(narrationId, changes);
    const wasFinished = before.status === "finished";
    const chargedByCall = view.credits.charged - Math.round(chargedCredits);
    return {
      ...view,
      isRepeat: wasFinished && chargedByCall === 0,
      hasQuoteOnlyRetake: changes.retakes.some(isQuoteOnlyRetake),
      chargedByCall: wasFinished && chargedByCall > 0 ? chargedByCall : null,
    };
  }

  async narrateAsMcpTask(
    source: NarrateSource,
    changes: NarrateChanges,
    call: Call,
  ): Promise<StatusOrView<NarrationView>> {
    const narration = await loadOrPlanWithCheckedName(this.#loadDeps, source, changes);
    call.signal.throwIfAborted();
    const hasWantedFiles =
      narration.state.status === "finished" && !wouldChangeFiles(narration.state, changes, narration.plan);
    const planToApprove = await this.#findPlanToApprove(source, narration, changes);
    if (changes.shouldStop || changes.maxCredits === null || hasWantedFiles || planToApprove !== null) {
      return { view: await this.narrate(source, changes, call) };
    }
    const { narrationId: targetId, plan } = narration;
    const { clock, ledger } = this.#deps;
    const { apiKeyId } = ledger.identity;
    const draft = { mcpTaskId: randomUUID(), apiKeyId, targetId, openedAtMs: clock.wallMs() };
    const { state, mcpTask } = await this.#storeAndDrive(
      narration,
      (before) => withNarrateCall(before, changes, plan),
      draft,
    );
    if (mcpTask === null) throw new Error("an MCP task was asked for, and not opened");
    return { working: await this.mcpTaskOperations.buildWorkingStatus(mcpTask, state) };
  }

  async list(query: string | null, limit: number): Promise<ListedNarration[]> {
    const countSaved = async (narration: NarrationWithPlan): Promise<number> =>
      (await this.#summarizeParts(narration)).statuses.filter((status) => status === "saved").length;
    return await listNarrations(this.#repository, this.#deps.folder.root, countSaved, { query, limit });
  }

  async listParts(narrationId: string): Promise<{ readonly view: NarrationView; readonly parts: PartRow[] }> {
    const narration = await loadOrPlanNarration(this.#loadDeps, { kind: "narration", narrationId });
    const { plan, state } = narration;
    const partSummary = await this.#summarizeParts(narration);
    return {
      view: buildNarrationView(narration, partSummary, this.#deps.clock.wallMs()),
      parts: plan.parts.map(({ text, chapterIndex }, index) => ({
        number: index + 1,
        text,
        chapter: plan.chapters[chapterIndex]?.title ?? null,
        take: findChosenTake(state, index),
        status: partSummary.statuses[index] ?? "not_started",
        record: partSummary.records[index] ?? null,
      })),
    };
  }

  async findFileByNumber(narrationId: string, number: number): Promise<NarrationFile> {
    return await this.#repository.findFile(narrationId, number);
  }

  async findFileByPath(path: string): Promise<NarrationFile | null> {
    const newestNarrations = await this.#repository.listNewest(MAX_NARRATIONS_SEARCHED);
    return newestNarrations.flatMap(({ state }) => state.files).find((file) => file.path === path) ?? null;
  }

  async close(): Promise<void> {
    await this.#drivers.close();
  }

  async #summarizeParts({ narrationId, plan, state }: NarrationWithPlan): Promise<PartSummary> {
    return await summarizeParts(
      this.#deps.partOperations,
      plan,
      state,
      await this.#repository.getBill(narrationId),
    );
  }

  /** Finds the file that a narration or a direct request has saved under a name; `null` if there is none. */
  async #findServerSavedFile(name: string): Promise<ServerSavedFile | null> {
    const { folder, ledger } = this.#deps;
    const path = join(folder.root, name);
    for (const { narrationId, state } of await this.#repository.listNewest(
      MAX_NARRATIONS_SEARCHED_FOR_REPLACEMENT,
    )) {
      const file = state.files.find((saved) => saved.path === path);
      // Several narrations may have saved a file under this name. Only the newest of these files is still there.
      if (file !== undefined && (await isIntact(file, folder.root)))
        return { narrationId, file, companions: file };
    }
    const owner = await findNameOwner({ ledger, folder }, name);
    return owner === null ? null : { narrationId: null, file: owner.file, companions: null };
  }

  /**
   * Returns a sentence about the paid parts that would be made again because pronunciations changed; `null` if there
   * are none.
   */
  async #describeChangedPronunciations({ plan, state }: NarrationWithPlan): Promise<string | null> {
    let count = 0;
    for (const index of plan.parts.keys()) {
      if (await this.#deps.partOperations.hasOtherPronunciation(buildPartRequest(plan, state, index)))
        count += 1;
    }
    if (count === 0) return null;
    const subject = count === 1 ? "1 part that is paid for was" : `${count} parts that are paid for were`;
    return `${subject} spoken with other pronunciations, and would be made again.`;
  }

  async #buildCurrentView(narrationId: string, changes: NarrateChanges): Promise<NarrationView> {
    const { clock, folder, ledger, partOperations } = this.#deps;
    const stored = await this.#repository.get(narrationId);
    // If no process has the lease but this process has a driver for the narration, show this process as the lease
    // owner. A new driver may not have the lease yet.
    const ownLease = this.#drivers.has(narrationId) ? ledger.identity.processId : null;
    const narration = { ...stored, leaseOwner: stored.leaseOwner ?? ownLease };
    const state = previewState(narration.state, changes, narration.plan);
    const partSummary = await this.#summarizeParts({ ...narration, state });
    const view = buildNarrationView({ ...narration, state }, partSummary, clock.wallMs());
    const currentView = await withoutMissingFiles(view, folder.root);
    if (currentView.status !== "planned") return currentView;
    const lateRemarks = await estimateLateRemarks(partOperations, narration.plan, state, partSummary.records);
    const pronunciationRemark = await this.#describeChangedPronunciations(narration);
    return {
      ...currentView,
      argumentsToRepeat: [
        ...(state === stored.state ? [] : ["the same retakes"]),
        ...(changes.mayReplace ? ["replace true"] : []),
      ],
      remarks: [
        ...currentView.remarks,
        ...toRemarks("text", [
          ...lateRemarks,
          ...(pronunciationRemark === null ? [] : [pronunciationRemark]),
        ]),
      ],
    };
  }

  /**
   * Returns the plan if a person must decide before the narration starts; `null` if no decision is needed. A decision
   * is needed in these cases:
   *
   * - The narration's first `max_credits` is below the suggested one.
   * - The narration is new, and a voice does not speak the text's language.
   * - The narration is new, and paid parts would be made again because pronunciations changed.
   */
  async #findPlanToApprove(
    source: NarrateSource,
    narration: LoadedNarration,
    changes: NarrateChanges,
  ): Promise<NarrationView | null> {
    const { maxCredits } = changes;
    if (source.kind === "narration" || narration.state.status !== "planned" || maxCredits === null)
      return null;
    const view = await this.#buildCurrentView(narration.narrationId, changes);
    if (maxCredits < view.credits.suggestedMax) return { ...view, refusedLimit: maxCredits };
    if (narration.isNew !== true) return null;
    const needsConsent =
      view.remarks.some(({ about }) => about === "language") ||
      (await this.#describeChangedPronunciations(narration)) !== null;
    return needsConsent ? view : null;
  }

  /**
   * Stores what a call wants, and starts to drive the narration.
   *
   * @param draft the MCP task to open; `null` for a call that gets no MCP task
   */
  async #storeAndDrive(
    { narrationId, leaseOwner }: NarrationWithPlan,
    change: (state: NarrationState) => NarrationState,
    draft: McpTaskDraft | null = null,
  ) {
    const hasNoDriver = leaseOwner === null && !this.#drivers.has(narrationId);
    const { processId } = this.#deps.ledger.identity;
    const changed = await this.#repository.changeWithMcpTask(narrationId, (current, open) => ({
      state: change(hasNoDriver ? withLocalLiveCallers(current, processId) : current),
      mcpTask: draft === null ? null : reuseOrOpenNarrationMcpTask(open, draft),
    }));
    this.#drivers.refresh(narrationId, changed.state);
    if (hasNoDriver || changed.state.status === "running") this.#drivers.start(narrationId);
    return changed;
  }

  /**
   * Applies the changes of a call. Only a call with `max_credits` allows spending. A call without `max_credits` may set
   * the file name, and may request that the saved parts are joined. If the process that drove the narration has ended,
   * such a call may also continue the narration within the `max_credits` of an earlier call.
   */
  async #applyChanges(
    source: NarrateSource,
    narration: NarrationWithPlan,
    changes: NarrateChanges,
  ): Promise<void> {
    const { narrationId, plan, state } = narration;
    const { fileName, maxCredits } = changes;
    if (changes.shouldStop) {
      await this.#storeAndDrive(narration, withStop);
      return;
    }
    if (maxCredits !== null) {
      const { processId } = this.#deps.ledger.identity;
      await this.#storeAndDrive(narration, (before) =>
        withCaller(withNarrateCall(before, changes, plan), processId),
      );
      return;
    }
    const isNamed = fileName !== null && fileName !== state.fileName;
    const withName = (before: NarrationState): NarrationState => (isNamed ? { ...before, fileName } : before);
    const isInterrupted =
      state.status === "running" && narration.leaseOwner === null && !this.#drivers.has(narrationId);
    if (isInterrupted && source.kind === "narration" && source.mayResume === true) {
      await this.#storeAndDrive(narration, withName);
    } else if (state.status === "finished" ? isNamed : await this.#isReadyToJoin(narration)) {
      await this.#storeAndDrive(narration, (before) => withResume(withName(before)));
    } else if (isNamed) {
      this.#drivers.refresh(narrationId, await this.#repository.change(narrationId, withName));
    }
  }

  /**
   * Whether a narration is stopped and all its parts are saved. A call without `max_credits` may continue such a
   * narration, because joining the parts costs nothing.
   */
  async #isReadyToJoin(narration: NarrationWithPlan): Promise<boolean> {
    if (deriveNarrationStatus(narration) !== "stopped" || this.#drivers.has(narration.narrationId))
      return false;
    return (await this.#summarizeParts(narration)).statuses.every((status) => status === "saved");
  }

  async #cancelCall(narrationId: string): Promise<void> {
    const { processId } = this.#deps.ledger.identity;
    const state = await this.#repository.change(narrationId, (before, open) =>
      withCancelledCallsOf(before, open, processId),
    );
    this.#drivers.refresh(narrationId, state);
  }
}
