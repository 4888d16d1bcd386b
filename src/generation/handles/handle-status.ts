/** How a handle stands, as whoever asks for it is told. */
import type { AudioError } from "../../errors.ts";
import type { Handle } from "../../ledger/rules/handles.ts";

/** `View`: what its result is made of. */
export type HandleStatus<View> = {
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

export type WorkingStatus = HandleStatus<never> & { readonly kind: "working" };

/** What a call is answered with where its client takes a handle; the view where there is nothing left to wait for. */
export type HandleOrView<View> = { readonly working: WorkingStatus } | { readonly view: View };

/** Work for the handles of one kind. */
export interface HandleOperations<View> {
  /**
   * How it stands; goes on with it where no process does.
   *
   * @returns `null`: what it was for is gone from the ledger
   * @throws AudioError `store_unavailable`, which says nothing about the handle
   */
  look(handle: Handle): Promise<HandleStatus<View> | null>;
  /** Cancels it, as far as that can still be done. @throws AudioError `store_unavailable` */
  cancel(handle: Handle): Promise<void>;
}

/** @param changedAtMs when something was last heard of what it is for */
export function handleStatus<Kind>(
  { handle, openedAtMs, endedAtMs }: Handle,
  kind: Kind,
  changedAtMs = 0,
): Kind & { readonly handle: string; readonly createdAtMs: number; readonly updatedAtMs: number } {
  const updatedAtMs = endedAtMs ?? Math.max(openedAtMs, changedAtMs);
  return { handle, createdAtMs: openedAtMs, updatedAtMs, ...kind };
}
