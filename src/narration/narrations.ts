/** Long narrations: the front door of this room. A plan before anything is spent, then parts, then the joined files. */
import type { Clock } from "../clock.ts";
import { Deadline } from "../deadline.ts";
import { AudioError } from "../errors.ts";
import { checkFileName } from "../files/file-name.ts";
import type { OutputFolder } from "../files/output-folder.ts";
import type { Call } from "../generation/job/wait-for-job.ts";
import type { Begun, TicketDesk } from "../generation/tickets/standing.ts";
import type { PartWork } from "../generation/use-cases/generate-part.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { TaskRecord } from "../ledger/record.ts";
import type { Log } from "../log.ts";
import { changed, choosesAnew, type NarrateChanges, previewed } from "./changes.ts";
import { inheritedTakes } from "./inherited-takes.ts";
import { createJoinedFiles } from "./joined-files.ts";
import { MOST_SEARCHED, type NarrationRow, rowsOf } from "./list-row.ts";
import type { NarrationText, PlanSettings } from "./make-plan.ts";
import { type KnownNarration, NarrationBook, type Reckon } from "./narration-book.ts";
import { isNarrationId, narrationIdOf } from "./narration-id.ts";
import { type NarrationFile, type NarrationState, withRemarks } from "./narration-state.ts";
import { askedPlainly, callCancelled, leftByOthers, openTicket, withTicket } from "./narration-tickets.ts";
import { figuresOf, type NarrationView, statusOf, viewOf } from "./narration-view.ts";
import { progressOf } from "./narration-words.ts";
import { takeOf } from "./part-request.ts";
import { Run, type RunDeps } from "./run.ts";
import { newsOf } from "./run-news.ts";
import { type PartStanding, type Tally, takeTally } from "./tally.ts";
import { NarrationDesk } from "./ticket-desk.ts";

export type { NarrateChanges } from "./changes.ts";

export type NarrateSource =
  | { readonly kind: "text"; readonly source: NarrationText; readonly options: PlanSettings }
  | { readonly kind: "narration"; readonly narrationId: string };

/** One part, as the table of parts shows it. */
export interface NarrationPart {
  readonly number: number;
  readonly text: string;
  readonly chapter: string | null;
  readonly take: number;
  readonly standing: PartStanding;
  readonly record: TaskRecord | null;
}

export interface Narrations {
  /**
   * Plans a narration, goes on with one, stops one, or tells how it stands; waits while it runs, as long as the call's
   * window is open.
   *
   * @throws AudioError `invalid_request`, `not_found`, `store_unavailable`; what goes wrong with parts is in the view
   */
  narrate(source: NarrateSource, changes: NarrateChanges, call: Call): Promise<NarrationView>;
  /**
   * The same for a client that takes a task of the protocol's extension for an answer: where something is to be made,
   * it goes on without the call.
   */
  begin(source: NarrateSource, changes: NarrateChanges, call: Call): Promise<Begun<NarrationView>>;
  readonly desk: TicketDesk<NarrationView>;
  /** Newest first, as they stood when they were last written; those that hold every word of the query. */
  list(query: string | null, limit: number): Promise<NarrationRow[]>;
  /** How it stands, part by part. @throws AudioError `not_found` */
  parts(narrationId: string): Promise<{ readonly view: NarrationView; readonly parts: NarrationPart[] }>;
  /** The file of a narration by its number, from 1. @throws AudioError `not_found` */
  fileOf(narrationId: string, number: number): Promise<NarrationFile>;
  /** The file of a narration at a path; `null`: there is none. */
  fileAt(path: string): Promise<NarrationFile | null>;
  close(): Promise<void>;
}

export interface NarrationsDeps {
  readonly ledger: Ledger;
  readonly parts: PartWork;
  readonly folder: OutputFolder;
  readonly clock: Clock;
  readonly log: Log;
}

/** How often a call looks at a narration that another process drives. */
const FOLLOW_MS = 1000;

export function createNarrations(deps: NarrationsDeps): Narrations {
  const { ledger, parts, folder, clock, log } = deps;
  const tallyOf = async ({ narrationId, plan, state }: KnownNarration): Promise<Tally> =>
    await takeTally(parts, plan, state, await book.bill(narrationId));
  const reckon: Reckon = async (known) => figuresOf(known, await tallyOf(known), clock.wallMs());
  const book = new NarrationBook(ledger.store.narrations, () => clock.wallMs(), reckon);
  const { origin, holder } = ledger.identity;
  const joined = createJoinedFiles({ folder, clock });
  const runDeps: RunDeps = { book, parts, joined, clock, log, holder, leaseTtlMs: ledger.leaseTtlMs };
  const runs = new Map<string, Run>();
  let isClosed = false;

  const find = async (source: NarrateSource): Promise<KnownNarration> => {
    if (source.kind === "narration") {
      const { narrationId } = source;
      if (isNarrationId(narrationId)) return await book.get(narrationId);
      throw new AudioError(
        "invalid_request",
        "narration_id must be an id that narrate returned: nar_ and 32 digits.",
      );
    }
    // Only who plans needs the reading of texts.
    const { planText } = await import("./plan-text.ts");
    const plan = await planText(source.source, source.options);
    const narrationId = narrationIdOf(origin, plan);
    if (await book.knows(narrationId)) {
      await book.change(narrationId, (state) => withRemarks(state, plan));
      return await book.get(narrationId);
    }
    await book.begin(narrationId, plan, await inheritedTakes(book, plan), clock.wallMs());
    return await book.get(narrationId);
  };

  const look = async (narrationId: string, changes: NarrateChanges): Promise<NarrationView> => {
    const stored = await book.get(narrationId);
    // A run that has just begun may not have its lease yet.
    const known = { ...stored, holder: stored.holder ?? (runs.has(narrationId) ? holder : null) };
    const state = previewed(known.state, changes, known.plan);
    return viewOf({ ...known, state }, await tallyOf({ ...known, state }), clock.wallMs());
  };

  /** One run at a time: a new one begins when the one that is just ending has. */
  const start = (narrationId: string): void => {
    const running = runs.get(narrationId);
    if (running?.isStopping === false || isClosed) return;
    if (running !== undefined) {
      void running.end.then(() => start(narrationId));
      return;
    }
    const run = new Run(runDeps, narrationId);
    runs.set(narrationId, run);
    void run.end.then((end) => {
      if (runs.get(narrationId) === run) runs.delete(narrationId);
      if (end === "changed") start(narrationId);
    });
  };

  /** Waits while it runs, here or elsewhere; a call that is cancelled stops what it would have paid for. */
  const wait = async (narrationId: string, call: Call): Promise<void> => {
    const deadline = new Deadline(clock, call.windowMs);
    for (;;) {
      call.signal.throwIfAborted();
      const entry = await book.entry(narrationId);
      const run = runs.get(narrationId);
      if (statusOf(entry) !== "running" && run === undefined) return;
      call.onProgress(progressOf(entry.state, clock.wallMs()));
      if (deadline.isOver) return;
      await newsOf(run, clock, Math.min(FOLLOW_MS, deadline.leftMs), call.signal);
    }
  };

  const desk = new NarrationDesk({
    book,
    reckon,
    clock,
    identity: ledger.identity,
    isRunningHere: (narrationId) => runs.has(narrationId),
    start,
    refresh: (narrationId, state) => runs.get(narrationId)?.refresh(state),
  });

  /** Writes what a call has decided, and goes on with it. */
  const decide = async (
    { narrationId, plan, holder: driver }: KnownNarration,
    changes: NarrateChanges,
    ask: (state: NarrationState) => NarrationState,
  ): Promise<NarrationState> => {
    const isLeft = driver === null && !runs.has(narrationId);
    const state = await book.change(narrationId, (current) =>
      ask(changed(isLeft ? leftByOthers(current, holder) : current, changes, plan)),
    );
    runs.get(narrationId)?.refresh(state);
    if (state.status === "running") start(narrationId);
    return state;
  };

  const narrate: Narrations["narrate"] = async (source, changes, call) => {
    if (changes.fileName !== null) checkFileName(changes.fileName);
    const known = await find(source);
    const { narrationId, state: before } = known;
    call.signal.throwIfAborted();
    if (changes.maxCredits !== null) await decide(known, changes, (asked) => askedPlainly(asked, holder));
    try {
      if (call.windowMs > 0) await wait(narrationId, call);
    } catch (error) {
      if (call.signal.aborted && changes.maxCredits !== null) await cancel(narrationId);
      throw error;
    }
    const view = await look(narrationId, changes);
    const isRepeat =
      before.status === "finished" && view.credits.charged === Math.round(before.chargedCredits);
    return { ...view, isRepeat };
  };

  return {
    narrate,
    desk,
    async begin(source, changes, call) {
      if (changes.fileName !== null) checkFileName(changes.fileName);
      const known = await find(source);
      call.signal.throwIfAborted();
      const isThere = known.state.status === "finished" && !choosesAnew(known.state, changes, known.plan);
      if (changes.maxCredits === null || changes.maxCredits === 0 || isThere) {
        return { view: await narrate(source, changes, call) };
      }
      const state = await decide(known, changes, (asked) => withTicket(asked, clock.wallMs()));
      const ticket = openTicket(state);
      if (ticket === undefined) return { view: await narrate(source, changes, call) };
      return { ticket: desk.opened(known.narrationId, state, ticket) };
    },
    async list(query, limit) {
      return await rowsOf(book, folder.root, { query, limit });
    },
    async parts(narrationId) {
      const known = await find({ kind: "narration", narrationId });
      const { plan, state } = known;
      const tally = await tallyOf(known);
      return {
        view: viewOf(known, tally, clock.wallMs()),
        parts: plan.parts.map(({ text, section }, index) => ({
          number: index + 1,
          text,
          chapter: plan.sections[section]?.title ?? null,
          take: takeOf(state, index),
          standing: tally.standings[index] ?? "open",
          record: tally.records[index] ?? null,
        })),
      };
    },
    fileOf: (narrationId, number) => book.file(narrationId, number),
    async fileAt(path) {
      const all = await book.newest(MOST_SEARCHED);
      return all.flatMap(({ state }) => state.files).find((file) => file.path === path) ?? null;
    },
    async close() {
      isClosed = true;
      for (const run of runs.values()) run.leave();
      await Promise.all([...runs.values()].map(({ end }) => end));
    },
  };

  async function cancel(narrationId: string): Promise<void> {
    const state = await book.change(narrationId, (before) => callCancelled(before, holder));
    runs.get(narrationId)?.refresh(state);
  }
}
