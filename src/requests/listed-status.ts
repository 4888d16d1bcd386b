/** Defines the statuses of requests as lists show them. Loads nothing else, because the list of tools names them. */
import type { AttemptStatus } from "../ledger/schema.ts";

/** A status as `list_tasks` shows it: `saved` is a success. */
export const LISTED_STATUSES = [
  "waiting",
  "unresolved",
  "queued",
  "processing",
  "succeeded",
  "failed",
] as const satisfies readonly AttemptStatus[];
export type ListedStatus = (typeof LISTED_STATUSES)[number];
