/** A call that was answered as a task of the protocol's extension, as its record remembers it. */
import { z } from "zod";
import { type Billing, billingSchema } from "../contract/audio-task.ts";
import { type StoredError, storedErrorSchema } from "./stored-error.ts";

/** What the service said of a task that failed. */
interface FailedTask {
  readonly taskId: string | null;
  readonly idempotencyKey: string | null;
  readonly billing: Billing | null;
  readonly taskError: { readonly code: string; readonly message: string } | null;
}

/** How a ticket ended: once, and for every process that is asked about it. */
export type TicketEnd =
  /** Its audio was saved. */
  | { readonly kind: "done"; readonly atMs: number }
  /** Nothing had been sent for it, and nothing ever is. */
  | { readonly kind: "cancelled"; readonly atMs: number }
  /** The service's task failed: what it said then, for the record may tell of a later attempt by now. */
  | ({ readonly kind: "failed"; readonly atMs: number } & FailedTask)
  | { readonly kind: "error"; readonly atMs: number; readonly error: StoredError };

export interface Ticket {
  /** By the wall clock; also its name, which no other ticket of the record has or gets. */
  readonly openedAtMs: number;
  /** The first attempt that is made for it; free repeats belong to it as well. */
  readonly attempt: number;
  readonly fileName: string | null;
  readonly replace: boolean;
  /** Its call found a task that was there already. */
  readonly replayed: boolean;
  /** It is not wanted any more; whether anything can be done about that is told by its end. */
  readonly cancelAskedAtMs: number | null;
  /** `null`: it has not ended. */
  readonly end: TicketEnd | null;
}

const atMs = z.number();
/** Only the facts that an end of its own needs; unknown ones are kept, as in the record. */
export const ticketSchema: z.ZodType<Ticket> = z.looseObject({
  openedAtMs: z.int().positive(),
  attempt: z.int().positive(),
  fileName: z.string().nullable(),
  replace: z.boolean(),
  replayed: z.boolean(),
  cancelAskedAtMs: z.number().nullable(),
  end: z
    .discriminatedUnion("kind", [
      z.looseObject({ kind: z.literal("done"), atMs }),
      z.looseObject({ kind: z.literal("cancelled"), atMs }),
      z.looseObject({
        kind: z.literal("failed"),
        atMs,
        taskId: z.string().nullable(),
        idempotencyKey: z.string().nullable(),
        billing: billingSchema.nullable(),
        taskError: z.object({ code: z.string(), message: z.string() }).nullable(),
      }),
      z.looseObject({
        kind: z.literal("error"),
        atMs,
        error: storedErrorSchema,
      }),
    ])
    .nullable(),
});
