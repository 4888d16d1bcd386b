/** Owns the arithmetic of the limits: when the last of several tasks could end if everything but the limits took no time. */
import { CREATES_PER_WINDOW, IN_FLIGHT_TASKS, LIMIT_WINDOW_SECONDS } from "../src/contract/limits.ts";

/**
 * Each create as soon as fewer than two tasks are in flight and fewer than six creates lie within the last minute,
 * in the order given.
 *
 * @param heldSeconds how long each task holds its place in flight
 * @returns seconds from the first create to the last end
 */
export function optimumSeconds(heldSeconds: readonly number[]): number {
  const createdAt: number[] = [];
  /** When each place becomes free. */
  const places = Array.from({ length: IN_FLIGHT_TASKS }, () => 0);
  for (const [index, held] of heldSeconds.entries()) {
    const byRate = (createdAt[index - CREATES_PER_WINDOW] ?? -LIMIT_WINDOW_SECONDS) + LIMIT_WINDOW_SECONDS;
    const at = Math.max(Math.min(...places), byRate);
    createdAt.push(at);
    places[places.indexOf(Math.min(...places))] = at + held;
  }
  return Math.max(...places);
}
