/** How a ticket stands, as whoever asks for it is told. */
import type { AudioError } from "../../errors.ts";

/** `View`: what its result is made of. */
export type TicketStanding<View> = {
  readonly handle: string;
  /** By the wall clock. */
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
} & (
  | { readonly kind: "working"; readonly message: string }
  /** What it has come to, true for ever. */
  | { readonly kind: "cancelled"; readonly message: string }
  | { readonly kind: "done"; readonly view: View }
  /** What the call would have thrown. */
  | { readonly kind: "error"; readonly error: AudioError }
);

export type WorkingTicket = TicketStanding<never> & { readonly kind: "working" };

/** What a call is answered with where its client takes a ticket; the view where there is nothing left to wait for. */
export type Begun<View> = { readonly ticket: WorkingTicket } | { readonly view: View };

/** Answers about handles of one kind. */
export interface TicketDesk<View> {
  /**
   * How it stands; goes on with it where no process does.
   *
   * @returns `null`: no ticket of this account has that handle
   * @throws AudioError `store_unavailable`, which says nothing about the ticket
   */
  look(handle: string): Promise<TicketStanding<View> | null>;
  /**
   * Takes it back, as far as that can still be done.
   *
   * @returns whether there is such a ticket
   * @throws AudioError `store_unavailable`
   */
  cancel(handle: string): Promise<boolean>;
}
