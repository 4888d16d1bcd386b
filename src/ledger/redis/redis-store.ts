/** Owns the store that several machines share; not written yet. */
import type { Clock } from "../../clock.ts";
import { AudioError } from "../../errors.ts";
import type { Log } from "../../log.ts";
import type { Store } from "../store.ts";

export function openRedisStore(_options: { storeUrl: string; log: Log; clock: Clock }): Store {
  throw new AudioError("store_unavailable", "The shared store is not built yet.");
}
