/** One process's run of a narration: from its lease through its parts to the joined files. */
import type { Clock } from "../clock.ts";
import { AudioError, ownMistake } from "../errors.ts";
import type { PartWork } from "../generation/use-cases/generate-part.ts";
import type { HolderId } from "../holder.ts";
import type { Log } from "../log.ts";
import { isOtherChoice } from "./changes.ts";
import type { JoinedFiles, MadeFiles } from "./joined-files.ts";
import type { NarrationBook } from "./narration-book.ts";
import type { NarrationProblem, NarrationState, StoredPlan } from "./narration-state.ts";
import { partFiles } from "./part-files.ts";
import { PartScheduler } from "./part-scheduler.ts";
import { joinProblems, problemOf } from "./stop-reasons.ts";
import { takeTally } from "./tally.ts";

export interface RunDeps {
  readonly book: NarrationBook;
  readonly parts: PartWork;
  readonly joined: JoinedFiles;
  readonly clock: Clock;
  readonly log: Log;
  readonly holder: HolderId;
  readonly leaseTtlMs: number;
}

/** How often a run renews its lease and hears what other processes have decided, at the least. */
const LOOK_MS = 1000;

/** `changed`: somebody has chosen other takes or another name meanwhile, so that there is more to do. */
type Pass = "ended" | "changed";

type Figures = Partial<Pick<NarrationState, "savedParts" | "chargedCredits">>;

export class Run {
  readonly narrationId: string;
  /**
   * Resolves when it has ended, or is left to the process that drives it. Never rejects. `changed`: a call asked for
   * more while it was stopping, so another run has to follow.
   */
  readonly end: Promise<Pass>;
  readonly #deps: RunDeps;
  /** Aborts when no create may be sent any more. */
  readonly #abort = new AbortController();
  /** Aborts when this run has nothing to say any more. */
  readonly #left = new AbortController();
  readonly #listeners = new Set<() => void>();
  #scheduler: PartScheduler | undefined;
  /** What the pass under way is about. */
  #seen: NarrationState | null = null;
  /** What ended it before its parts were all there. */
  #stopProblem: NarrationProblem | null = null;

  constructor(deps: RunDeps, narrationId: string) {
    this.#deps = deps;
    this.narrationId = narrationId;
    this.end = this.#drive().catch((error: unknown) => {
      deps.log.error("a narration's run failed unexpectedly", error);
      return "ended";
    });
  }

  get isStopping(): boolean {
    return this.#abort.signal.aborted;
  }

  /** Told of each part that is saved and of the end. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * No create is sent any more; what was accepted is saved by its own job. Whoever calls this has written why, or
   * goes on with the narration: this run writes nothing more.
   */
  leave(): void {
    this.#left.abort(new Error("the narration was left"));
    this.#stop();
  }

  /** Takes over what somebody has changed. */
  refresh(state: NarrationState): void {
    if (state.status !== "running") this.leave();
    this.#scheduler?.wake();
    this.#tell();
  }

  #stop(): void {
    this.#abort.abort(new Error("the narration was stopped"));
  }

  async #drive(): Promise<Pass> {
    const { book, holder, leaseTtlMs, log } = this.#deps;
    if (!(await book.lead(this.narrationId, holder, leaseTtlMs))) return "ended";
    const keeping = new AbortController();
    const kept = this.#keepLease(keeping.signal);
    try {
      for (;;) {
        const pass = await this.#pass();
        if (pass === "ended" || this.isStopping) return pass;
        this.#tell();
      }
    } catch (error) {
      if (!this.#left.signal.aborted) await this.#fail(error);
      return "ended";
    } finally {
      keeping.abort();
      await kept;
      await book.release(this.narrationId).catch((cause: unknown) => log.debug(String(cause)));
      this.#tell();
    }
  }

  async #fail(error: unknown): Promise<void> {
    if (!(error instanceof AudioError)) this.#deps.log.error("a narration failed unexpectedly", error);
    const known = error instanceof AudioError ? error : ownMistake(error);
    const problems = [problemOf(known, null)];
    const figures = await this.#figures();
    await this.#deps.book.change(this.narrationId, (before) =>
      this.#seen !== null && isOtherChoice(this.#seen, before)
        ? before
        : ended(before, "stopped", problems, figures),
    );
  }

  async #keepLease(signal: AbortSignal): Promise<void> {
    const { book, clock, holder, leaseTtlMs, log } = this.#deps;
    while (!signal.aborted) {
      await clock.sleep(Math.min(leaseTtlMs / 3, LOOK_MS), signal).catch(() => undefined);
      if (signal.aborted) return;
      try {
        if (!(await book.lead(this.narrationId, holder, leaseTtlMs))) this.leave();
        else this.refresh((await book.entry(this.narrationId)).state);
      } catch (error) {
        log.debug(`the lease of a narration could not be renewed: ${String(error)}`);
      }
    }
  }

  /** Speaks what is missing and joins what is there, by the choices that stand when it begins. */
  async #pass(): Promise<Pass> {
    const { book, parts, clock } = this.#deps;
    const { plan, state: asked } = await book.get(this.narrationId);
    const bill = await book.bill(this.narrationId);
    const tally = await takeTally(parts, plan, asked, bill);
    const savedParts = tally.standings.filter((standing) => standing === "saved").length;
    const state = await book.change(this.narrationId, (before) => ({
      ...before,
      problems: [],
      begunAtMs: clock.wallMs(),
      savedAtBegin: savedParts,
      lastSavedAtMs: null,
      savedParts,
    }));
    const scheduler = new PartScheduler({
      narrationId: this.narrationId,
      parts,
      plan,
      state,
      tally,
      signal: this.#abort.signal,
      onProblem: (problem) => {
        this.#stopProblem ??= problem;
        this.#stop();
      },
      onNotWanted: () => this.leave(),
      onSaved: () => this.#noteSaved(),
    });
    this.#scheduler = scheduler;
    this.#seen = state;
    this.refresh(state);
    await scheduler.run();
    if (!this.#left.signal.aborted && this.isStopping) await scheduler.settle(this.#left.signal);
    return this.#left.signal.aborted ? "ended" : await this.#finish(plan, state, scheduler);
  }

  /** For lists and other processes; how the parts stand is known without it. */
  async #noteSaved(): Promise<void> {
    const { book, clock, log } = this.#deps;
    const lastSavedAtMs = clock.wallMs();
    await this.#figures()
      .then((figures) =>
        book.change(this.narrationId, (before) => ({ ...before, ...figures, lastSavedAtMs })),
      )
      .catch((cause: unknown) => log.debug(`how a narration stands could not be written: ${String(cause)}`));
    this.#tell();
  }

  async #figures(): Promise<Figures> {
    if (this.#scheduler === undefined) return {};
    const { savedParts } = this.#scheduler;
    const { chargedCredits } = await this.#deps.book.bill(this.narrationId);
    return { savedParts, chargedCredits };
  }

  async #finish(plan: StoredPlan, state: NarrationState, scheduler: PartScheduler): Promise<Pass> {
    const { joined } = this.#deps;
    const given = this.#stopProblem === null ? [] : [this.#stopProblem];
    const problems = [...scheduler.problems, ...given];
    const isGivenUp = new Set(scheduler.problems.map(({ part }) => part));
    const spoken = scheduler.wanted.filter((index) => !isGivenUp.has(index));
    const isWhole = given.length === 0 && spoken.length > 0 && (isGivenUp.size === 0 || state.skipsFailed);
    if (!isWhole) return await this.#endWith(state, "stopped", problems);
    try {
      const { signal } = this.#abort;
      const call = { signal, narrationId: this.narrationId };
      const parts = await partFiles(this.#deps.parts, { plan, state, spoken }, call);
      // Something was taken away meanwhile: it is made again, within the limit.
      if (parts === null) return "changed";
      const { narrationId } = this;
      const files = await joined.make({ narrationId, plan, state, parts, signal });
      return await this.#endWith(state, "finished", problems, files);
    } catch (error) {
      const found = joinProblems(error, spoken);
      if (found === null) throw error;
      return await this.#endWith(state, "stopped", [...problems, ...found]);
    }
  }

  async #endWith(
    asked: NarrationState,
    status: "stopped" | "finished",
    problems: readonly NarrationProblem[],
    files: Partial<MadeFiles> = {},
  ): Promise<Pass> {
    const figures = await this.#figures();
    const after = await this.#deps.book.change(this.narrationId, (before) =>
      isOtherChoice(asked, before) ? before : { ...ended(before, status, problems, figures), ...files },
    );
    return isOtherChoice(asked, after) ? "changed" : "ended";
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

/** A call may have stopped it while it was about to end: then that is why it stopped. */
function ended(
  before: NarrationState,
  status: "stopped" | "finished",
  problems: readonly NarrationProblem[],
  figures: Figures,
): NarrationState {
  const end = before.status === "running" ? { status, problems: [...problems] } : {};
  return { ...before, ...end, ...figures };
}
