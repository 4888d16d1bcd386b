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
import { takeOf } from "./part-request.ts";
import { Speakers } from "./speakers.ts";
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

export class Run {
  readonly narrationId: string;
  /** Resolves when it has ended, or is left to the process that drives it. Never rejects. */
  readonly end: Promise<void>;
  readonly #deps: RunDeps;
  /** Aborts when no create may be sent any more. */
  readonly #abort = new AbortController();
  /** Aborts when this run has nothing to say any more. */
  readonly #left = new AbortController();
  readonly #listeners = new Set<() => void>();
  #speakers: Speakers | undefined;
  #maxCredits = 0;
  /** What the pass under way is about. */
  #seen: NarrationState | null = null;
  /** What ended it before its parts were all there. */
  #stopProblem: NarrationProblem | null = null;

  constructor(deps: RunDeps, narrationId: string) {
    this.#deps = deps;
    this.narrationId = narrationId;
    this.end = this.#drive().catch((error: unknown) => {
      deps.log.error("a narration's run failed unexpectedly", error);
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
    this.#maxCredits = state.maxCredits ?? 0;
    if (state.status !== "running") this.leave();
    this.#speakers?.wake();
    this.#tell();
  }

  /** A cancel, a stop or a lower limit that another process has written counts before the next look. */
  readonly #mayCreate = async (): Promise<boolean> => {
    this.refresh((await this.#deps.book.entry(this.narrationId)).state);
    return !this.isStopping;
  };

  #stop(): void {
    this.#abort.abort(new Error("the narration was stopped"));
  }

  async #drive(): Promise<void> {
    const { book, holder, leaseTtlMs, log } = this.#deps;
    if (!(await book.lead(this.narrationId, holder, leaseTtlMs))) return;
    const keeping = new AbortController();
    const kept = this.#keepLease(keeping.signal);
    try {
      while ((await this.#pass()) === "changed" && !this.isStopping) this.#tell();
    } catch (error) {
      if (!this.#left.signal.aborted) await this.#fail(error);
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
    await this.#deps.book.change(this.narrationId, (before) =>
      this.#seen !== null && isOtherChoice(this.#seen, before)
        ? before
        : this.#ended(before, "stopped", problems),
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
    const tally = await takeTally(parts, plan, asked);
    const isThere = (index: number): boolean => tally.standings[index] === "saved";
    const paid = plan.parts.flatMap((_, part) =>
      isThere(part) ? [{ part, take: takeOf(asked, part) }] : [],
    );
    const savedParts = tally.standings.filter((standing) => standing === "saved").length;
    const state = await book.change(this.narrationId, (before) => ({
      ...before,
      paidBefore: before.paidBefore ?? paid,
      problems: [],
      begunAtMs: clock.wallMs(),
      savedAtBegin: savedParts,
      lastSavedAtMs: null,
      savedParts,
    }));
    const speakers = new Speakers({
      parts,
      plan,
      state,
      tally,
      signal: this.#abort.signal,
      mayCreate: this.#mayCreate,
      maxCredits: () => this.#maxCredits,
      onProblem: (problem) => {
        this.#stopProblem ??= problem;
        this.#stop();
      },
      onSaved: () => this.#noteSaved(),
    });
    this.#speakers = speakers;
    this.#seen = state;
    this.refresh(state);
    await speakers.run();
    if (!this.#left.signal.aborted && this.isStopping) await speakers.settle(this.#left.signal);
    return this.#left.signal.aborted ? "ended" : await this.#finish(plan, state, speakers);
  }

  /** For lists and other processes; how the parts stand is known without it. */
  async #noteSaved(): Promise<void> {
    const { book, clock, log } = this.#deps;
    const lastSavedAtMs = clock.wallMs();
    await book
      .change(this.narrationId, (before) => ({ ...before, ...this.#figures(), lastSavedAtMs }))
      .catch((cause: unknown) => log.debug(`how a narration stands could not be written: ${String(cause)}`));
    this.#tell();
  }

  #figures(): Partial<Pick<NarrationState, "savedParts" | "chargedCredits">> {
    if (this.#speakers === undefined) return {};
    const { savedParts, chargedCredits } = this.#speakers;
    return { savedParts, chargedCredits };
  }

  async #finish(plan: StoredPlan, state: NarrationState, speakers: Speakers): Promise<Pass> {
    const { joined } = this.#deps;
    const given = this.#stopProblem === null ? [] : [this.#stopProblem];
    const problems = [...speakers.problems, ...given];
    const isGivenUp = new Set(speakers.problems.map(({ part }) => part));
    const spoken = speakers.wanted.filter((index) => !isGivenUp.has(index));
    const isWhole = given.length === 0 && spoken.length > 0 && (isGivenUp.size === 0 || state.skipsFailed);
    if (!isWhole) return await this.#endWith(state, "stopped", problems);
    try {
      const { signal } = this.#abort;
      const call = { signal, mayCreate: this.#mayCreate };
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
    const after = await this.#deps.book.change(this.narrationId, (before) =>
      isOtherChoice(asked, before) ? before : { ...this.#ended(before, status, problems), ...files },
    );
    return isOtherChoice(asked, after) ? "changed" : "ended";
  }

  /** Somebody may have stopped it while it was about to end: then that is why it stopped. */
  #ended(
    before: NarrationState,
    status: "stopped" | "finished",
    problems: readonly NarrationProblem[],
  ): NarrationState {
    const end = before.status === "running" ? { status, problems: [...problems] } : {};
    return { ...before, ...end, ...this.#figures() };
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}
