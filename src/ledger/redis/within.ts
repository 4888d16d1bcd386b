/** Bounds by time whatever Redis is asked. */
import { setTimeout as pause } from "node:timers/promises";
import { withDeadline } from "../../deadline.ts";
import { TimedOut } from "./redis-faults.ts";

/** Unlike the program's clock it keeps the process alive: a command under way must not be cut off. */
const awake = { sleep: (ms: number, signal?: AbortSignal) => pause<void>(ms, undefined, { signal }) };

/** @throws TimedOut after `ms`; what was begun goes on, and its answer belongs to nobody */
export function within<T>(ms: number, work: () => Promise<T>): Promise<T> {
  return withDeadline({ clock: awake, ms, late: () => new TimedOut(ms) }, work);
}
