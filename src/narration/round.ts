/**
 * One round of a narration: reads its rows, fetches what is paid for, begins the next missing part in the order of
 * hearing, joins each file whose parts are there, and ends when nothing is left or nothing is wanted.
 */
import { RESERVED_CREDITS } from "../contract/billing.ts";
import { AudioError } from "../errors.ts";
import {
  type PartTask,
  type RoundRead,
  readNarrationBill,
  readRound,
  type StoredProblem,
} from "../ledger/narration-rows.ts";
import { endNarration, setPartProblems } from "../ledger/narration-writes.ts";
import { readRequest } from "../ledger/request-rows.ts";
import type { NarrationRow, PartRow } from "../ledger/schema.ts";
import { adoptTask } from "../requests/adopt-task.ts";
import { beginPart } from "../requests/begin.ts";
import type { NarrationDeps } from "./narration-deps.ts";
import { NarrationJoiner } from "./narration-joiner.ts";
import {
  buildProblem,
  buildTaskProblem,
  derivePartStates,
  isFileComplete,
  isForCredits,
  type PartState,
  type PartStatus,
} from "./part-status.ts";
import { buildPartRequest } from "./parts.ts";
import { listPlannedFiles, type PlannedFile } from "./planned-files.ts";
import { type StoredPlan, UnreadablePlanError } from "./planning/stored-plan.ts";
import { RunningPlaylist } from "./running-playlist.ts";

/**
 * `lost`: another process drives the narration. `renewed`: a call has come, so that whatever was tried in vain may be
 * tried again, by rounds that remember nothing. `now`: the next round follows at once. `later`: after a change.
 */
export type RoundOutcome = "over" | "lost" | "renewed" | "now" | "later";

/** Statuses to which nothing happens by itself. */
const ENDED: ReadonlySet<PartStatus> = new Set<PartStatus>(["saved", "failed", "skipped"]);
/** Two parts run at the service, and one waits for a free slot or is being downloaded. */
const MAX_PARTS_IN_PROGRESS = 3;
/** A part that nobody has taken up is not begun again sooner, because something else must change first. */
const BEGIN_AGAIN_MS = 500;

/** Whether the ledger is away, and may come back. */
export const isLedgerAway = (error: unknown): boolean =>
  error instanceof AudioError &&
  error.code === "store_unavailable" &&
  !(error instanceof UnreadablePlanError);

/**
 * The rounds of one narration in this process, until the next call. What they remember is only what can be read again:
 * requests that have ended are not read in every round.
 */
export class NarrationRound {
  readonly #deps: NarrationDeps;
  readonly #id: string;
  readonly #plan: StoredPlan;
  readonly #files: readonly PlannedFile[];
  readonly #signal: AbortSignal;
  readonly #joiner: NarrationJoiner;
  readonly #playlist: RunningPlaylist;
  #narration: NarrationRow | null = null;
  /** Whether something has changed that only reading all parts shows. */
  #mustReadAll = true;
  #parts: readonly PartRow[] = [];
  /** The requests of the parts by fingerprint, as they were read last. */
  readonly #tasks = new Map<string, readonly PartTask[]>();
  /** What the parts have come to, in reading order. */
  #states: readonly PartState[] = [];
  /** Requests of other API keys whose tasks are of no use to this account: it does not know them, or they have failed. */
  readonly #unknownHere = new Set<string>();
  /** Requests whose error of an earlier run was tried again. */
  readonly #retried = new Set<string>();
  /** Indexes of the files that are complete. */
  readonly #completeFiles = new Set<number>();
  /** Indexes of the files that could not be saved. */
  readonly #failedFiles = new Set<number>();
  /** An error that concerns the whole narration. What is accepted is saved all the same. */
  #failure: StoredProblem | null = null;
  /** The part that was begun last, and when. */
  #begun: { readonly fingerprint: string; readonly atMs: number } | null = null;
  /** How many parts had ended when credits did not suffice for another one. */
  #endedAtCreditError = -1;

  /** @param signal aborts when this process must stop */
  constructor(deps: NarrationDeps, narrationId: string, plan: StoredPlan, signal: AbortSignal) {
    this.#deps = deps;
    this.#id = narrationId;
    this.#plan = plan;
    this.#files = listPlannedFiles(plan);
    this.#signal = signal;
    this.#joiner = new NarrationJoiner(deps, signal);
    this.#playlist = new RunningPlaylist(deps, narrationId, plan, signal);
  }

  /** The narration as the newest round has read it. */
  get narration(): NarrationRow | null {
    return this.#narration;
  }

  async run(): Promise<RoundOutcome> {
    const open = this.#states.filter(({ task, status }) => task !== undefined && !ENDED.has(status));
    const openFingerprints = [...new Set(open.map(({ part }) => part.fingerprint))];
    if (this.#begun !== null) openFingerprints.push(this.#begun.fingerprint);
    const known = this.#mustReadAll ? null : openFingerprints;
    const read = await readRound(this.#deps.ledger, this.#id, known);
    if (read === undefined || read.narration.status === "planned") return "over";
    if (!read.isMine) return "lost";
    if (this.#narration !== null && read.narration.revision !== this.#narration.revision) return "renewed";
    this.#takeIn(read, openFingerprints);
    if (await this.#fetchAccepted(read.narration)) return "now";
    await this.#playlist.extend(read.narration, this.#states);
    const reason = await this.#findReasonToEnd(read);
    if (reason === null && (await this.#tryWholly(() => this.#beginNext(read.narration)))) return "now";
    // What waits for its turn after a stop is not sent for this narration; another call may want it.
    const isUnderWay = this.#has("running") || (reason !== "unwanted" && this.#has("waiting"));
    const isOver = !isUnderWay && (reason !== null || !this.#isAnyOpen);
    if (await this.#tryWholly(() => this.#joinNext(read, isOver))) return "now";
    return await this.#end(read, reason, isOver);
  }

  /** Remembers an error that concerns the whole narration, except if the ledger is away. */
  async #tryWholly(work: () => Promise<boolean>): Promise<boolean> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof AudioError) || isLedgerAway(error) || this.#signal.aborted) throw error;
      this.#failure = buildProblem(error);
      return true;
    }
  }

  #takeIn(read: RoundRead, readAgain: readonly string[]): void {
    const { narration, parts, tasks } = read;
    this.#narration = narration;
    if (parts !== null) {
      this.#mustReadAll = false;
      this.#parts = parts;
      this.#tasks.clear();
    }
    for (const fingerprint of readAgain) this.#tasks.delete(fingerprint);
    for (const [fingerprint, found] of tasks) this.#tasks.set(fingerprint, found);
    this.#deriveStates(narration);
  }

  #deriveStates(narration: NarrationRow): void {
    const { ledger, driver } = this.#deps;
    this.#states = derivePartStates(this.#parts, this.#tasks, {
      narration,
      apiKeyId: ledger.identity.apiKeyId,
      isDriving: (id) => driver.isDriving(id),
      unknownHere: this.#unknownHere,
      notHere: this.#joiner.notHere,
    });
  }

  // ---- parts ----

  #has(...statuses: readonly PartStatus[]): boolean {
    return this.#states.some(({ status }) => statuses.includes(status));
  }

  #list(status: PartStatus): PartState[] {
    return this.#states.filter((state) => state.status === status);
  }

  get #endedCount(): number {
    return this.#states.filter(({ status }) => ENDED.has(status)).length;
  }

  get #isAnyOpen(): boolean {
    return this.#endedCount < this.#states.length;
  }

  /**
   * Lets the tasks that the service has accepted be watched and saved, whoever paid for them and whether or not the
   * narration is still wanted.
   *
   * @returns whether a task has turned out to be unknown, so that the states have changed
   */
  async #fetchAccepted(narration: NarrationRow): Promise<boolean> {
    const { driver, ledger } = this.#deps;
    const isRunning = narration.status === "running";
    const accepted = [...this.#list("running"), ...this.#list("blocked")];
    const isDriven = (task: PartTask): boolean => task.isDriven || driver.isDriving(task.id);
    let drivenCount = accepted.filter(({ task }) => task !== undefined && isDriven(task)).length;
    let hasLost = false;
    for (const { task, status } of accepted) {
      if (drivenCount >= MAX_PARTS_IN_PROGRESS || hasLost) break;
      if (task === undefined || isDriven(task)) continue;
      // An error of a run is kept until the next start, but a narration that has ended starts nothing again by itself.
      const mayRetry =
        status === "blocked" && !isRunning && task.task_id !== null && !this.#retried.has(task.id);
      if (status === "blocked" && !mayRetry) continue;
      if (mayRetry) this.#retried.add(task.id);
      drivenCount += 1;
      if (task.api_key_id === ledger.identity.apiKeyId) driver.ensure(task.id, { retriesErrors: mayRetry });
      else if (!(await this.#adopt(task))) hasLost = true;
    }
    if (hasLost) this.#deriveStates(narration);
    return hasLost;
  }

  /** Takes over a task that another API key of this machine has made; false if this account does not know it. */
  async #adopt(task: PartTask): Promise<boolean> {
    const { ledger, driver } = this.#deps;
    const row = await ledger.database.run((db) => readRequest(db, task.id));
    const adopted = row === undefined ? null : await adoptTask(this.#deps, row, this.#signal);
    // The other row may be older than the own one, whose task has failed or whose newer attempt was sent.
    if (adopted === null || adopted.task_id === null || adopted.status === "failed") {
      this.#unknownHere.add(task.id);
      return false;
    }
    driver.ensure(adopted.id);
    return true;
  }

  /** Finds why nothing more is begun; `null` while it goes on, or if only joining is left. */
  async #findReasonToEnd({ narration, isWanted }: RoundRead): Promise<StoredProblem | "unwanted" | null> {
    if (!this.#isAnyOpen) return null;
    if (narration.status !== "running" || !isWanted) return "unwanted";
    if (this.#failure !== null) return this.#failure;
    const blocked = this.#list("blocked").flatMap(({ task }) => task ?? []);
    const blocker = blocked.find((task) => !isForCredits(task));
    if (blocker !== undefined) return buildTaskProblem(blocker);
    // Credits that running parts have reserved may become free.
    if (this.#has("running", "waiting")) return null;
    const [withoutCredits] = blocked;
    if (withoutCredits !== undefined)
      return this.#endedAtCreditError === this.#endedCount ? buildTaskProblem(withoutCredits) : null;
    if (this.#has("unanswered") || !this.#has("to_do")) return null;
    return await this.#findLimitProblem(narration);
  }

  /** Says why the limit has no room for another reservation; `null` if it has. */
  async #findLimitProblem({ max_credits }: NarrationRow): Promise<StoredProblem | null> {
    const { spent } = await readNarrationBill(this.#deps.ledger, this.#id);
    const limit = max_credits ?? 0;
    return spent + RESERVED_CREDITS <= limit
      ? null
      : {
          code: "max_credits_reached",
          message: `The limit of ${limit} credits leaves no room for another part: ${Math.round(spent)} are charged or reserved, and each part reserves ${RESERVED_CREDITS} until its own charge is known.`,
        };
  }

  /** Begins the next part once the one before is accepted. Returns whether one was begun. */
  async #beginNext(narration: NarrationRow): Promise<boolean> {
    const { clock, driver, ledger } = this.#deps;
    const active = new Set(this.#list("running").map(({ part }) => part.fingerprint));
    if (active.size >= MAX_PARTS_IN_PROGRESS || this.#has("waiting")) return false;
    const next = await this.#chooseNext(narration, active);
    if (next === undefined) return false;
    await this.#deps.partsFolder.ensureWritable();
    const { position, fingerprint } = next;
    const nowMs = clock.steadyMs();
    if (this.#begun?.fingerprint === fingerprint && nowMs - this.#begun.atMs < BEGIN_AGAIN_MS) return false;
    this.#begun = { fingerprint, atMs: nowMs };
    this.#endedAtCreditError = this.#has("blocked") ? this.#endedCount : -1;
    const { baseUrl } = ledger.identity;
    const { id } = await beginPart(this.#deps, buildPartRequest(baseUrl, this.#plan, position, next));
    driver.ensure(id, { retriesErrors: true });
    return true;
  }

  /**
   * Chooses the part that begins next: one that was sent without an answer, else the first missing one from the part on
   * that is heard, else the first missing one.
   */
  async #chooseNext(narration: NarrationRow, active: ReadonlySet<string>): Promise<PartRow | undefined> {
    const find = (...statuses: readonly PartStatus[]): PartRow | undefined => {
      const isNext = ({ part, status }: PartState): boolean =>
        statuses.includes(status) && !active.has(part.fingerprint);
      const heard = this.#states.slice(narration.heard_part);
      return (heard.find(isNext) ?? this.#states.find(isNext))?.part;
    };
    const unanswered = find("unanswered");
    if (unanswered !== undefined) return unanswered;
    if (this.#has("blocked") && this.#endedAtCreditError === this.#endedCount) return undefined;
    const next = find("to_do", "blocked");
    return next !== undefined && (await this.#findLimitProblem(narration)) === null ? next : undefined;
  }

  // ---- files ----

  /**
   * Joins the next file whose parts are there; when nothing more comes, also those that lack parts.
   *
   * @returns whether a file or a part has changed, so that the rows are read again
   */
  async #joinNext({ narration, mayReplace }: RoundRead, isOver: boolean): Promise<boolean> {
    for (const [index, file] of this.#files.entries()) {
      if (this.#completeFiles.has(index) || this.#failedFiles.has(index)) continue;
      const isComplete = isFileComplete(file, this.#states);
      if (!isComplete && !isOver) continue;
      const join = { narration, plan: this.#plan, file, states: this.#states, isComplete, mayReplace };
      const outcome = await this.#joiner.join(join).catch((error: unknown) => {
        if (!isLedgerAway(error)) this.#failedFiles.add(index);
        throw error;
      });
      if (outcome === "there") {
        if (!isComplete) continue;
        this.#completeFiles.add(index);
        return true;
      }
      if (outcome !== "refetch") await setPartProblems(this.#deps.ledger, outcome);
      this.#mustReadAll = true;
      return true;
    }
    return false;
  }

  // ---- the end ----

  async #end(
    { narration, isWanted, parts }: RoundRead,
    reason: StoredProblem | "unwanted" | null,
    isOver: boolean,
  ): Promise<RoundOutcome> {
    const isFinished = this.#completeFiles.size === this.#files.length;
    if (!isOver && !isFinished) return "later";
    // Requests that had failed may have been made by another call meanwhile.
    if (parts === null) {
      this.#mustReadAll = true;
      return "now";
    }
    const { ledger } = this.#deps;
    // What nobody wants any more, because its process has ended, may be resumed within its limit.
    if (!isFinished && narration.status === "running" && !isWanted) return "over";
    const failure = reason === "unwanted" || reason === null ? this.#failure : reason;
    // What ended before keeps its reason.
    const problem = isFinished ? null : narration.status === "running" ? failure : undefined;
    const status = isFinished ? "finished" : "stopped";
    await this.#playlist.end();
    this.#deps.log.info(`narration ${this.#id} ends: ${status}, ${problem?.code ?? "as asked for"}`);
    return (await endNarration(ledger, this.#id, { status, problem, read: narration })) ? "over" : "now";
  }
}
