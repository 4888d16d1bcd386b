/** What requests with tickets have come to: written into their record, or remembered where that is gone. */
import { AudioError, ownMistake } from "../../errors.ts";
import { ticketOf } from "../../ledger/record-tickets.ts";
import { toStoredError } from "../../ledger/stored-error.ts";
import type { TicketEnd } from "../../ledger/ticket.ts";
import type { GenerationDeps } from "../deps.ts";
import type { TaskView } from "../task-view.ts";
import { leadKnown } from "./lead.ts";
import type { TicketStanding } from "./standing.ts";
import { ticketName } from "./ticket-handle.ts";
import { TicketOver, type TicketRun } from "./ticket-run.ts";

export type Outcome =
  | { readonly kind: "view"; readonly view: TaskView }
  | { readonly kind: "error"; readonly error: AudioError };

/** Each is a few sentences. */
const MOST_REMEMBERED = 500;

/** `null`: nothing that says anything about the request; whoever asks next goes on with it. */
export function outcomeOfError(thrown: unknown, run: TicketRun, { log }: GenerationDeps): Outcome | null {
  if (run.signal.aborted || thrown instanceof TicketOver) return null;
  if (!(thrown instanceof AudioError)) log.error("a task failed unexpectedly", thrown);
  const error = thrown instanceof AudioError ? thrown : ownMistake(thrown);
  // A store that is away, or a process that stops.
  const isPassing = error.code === "store_unavailable" || error.code === "timeout";
  return isPassing ? null : { kind: "error", error };
}

export class Outcomes {
  readonly #deps: Pick<GenerationDeps, "ledger" | "clock">;
  /** By handle; of records that were refused, and forgotten. */
  readonly #remembered = new Map<string, TicketStanding<TaskView>>();

  readonly #isDriven: (recordId: string) => boolean;

  /** @param isDriven whether a job of this process drives a record */
  constructor(deps: Pick<GenerationDeps, "ledger" | "clock">, isDriven: (recordId: string) => boolean) {
    this.#deps = deps;
    this.#isDriven = isDriven;
  }

  remembered(handle: string): TicketStanding<TaskView> | null {
    return this.#remembered.get(handle) ?? null;
  }

  /** @throws AudioError `store_unavailable`: it is to be written later */
  async write(handle: string, outcome: Outcome): Promise<void> {
    const name = ticketName(handle);
    if (name === null) return;
    const { ledger, clock } = this.#deps;
    const { openedAtMs } = name;
    const atMs = clock.wallMs();
    const end: TicketEnd =
      outcome.kind === "view"
        ? { kind: "done", atMs }
        : { kind: "error", atMs, error: toStoredError(outcome.error) };
    const record = await ledger.get(name.recordId);
    const lead = record === null || end.kind !== "error" ? null : await leadKnown(ledger, record);
    // Whoever leads it may be about to try once more: what becomes of that is told by its own process.
    if (lead?.isOurs === false) return;
    const isLeft = lead !== null && !this.#isDriven(name.recordId);
    const event = { kind: "ticketEnded", openedAtMs, end } as const;
    const after =
      record === null ? null : await ledger.apply(record, event, isLeft ? { lease: "release" } : {});
    if (after !== null && ticketOf(after, openedAtMs) !== undefined) return;
    const head = { handle, createdAtMs: openedAtMs, updatedAtMs: atMs };
    const told: TicketStanding<TaskView> =
      outcome.kind === "view"
        ? { ...head, kind: "done", view: outcome.view }
        : { ...head, kind: "error", error: outcome.error };
    const [oldest] = this.#remembered.keys();
    if (this.#remembered.size >= MOST_REMEMBERED && oldest !== undefined) this.#remembered.delete(oldest);
    this.#remembered.set(handle, told);
  }
}
