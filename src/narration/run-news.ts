/** Waiting for something to be told of a narration that runs. */
import type { Clock } from "../clock.ts";
import type { Run } from "./run.ts";

/**
 * Resolves with the next news of a run, its end included, or after a while: another process may drive it.
 *
 * @param run this process's, where it has one
 */
export async function newsOf(
  run: Run | undefined,
  clock: Pick<Clock, "sleep">,
  ms: number,
  signal: AbortSignal,
): Promise<void> {
  const settled = new AbortController();
  const sleeping = clock.sleep(ms, AbortSignal.any([signal, settled.signal])).catch(() => undefined);
  const news = run === undefined ? [] : [run.end.then(() => undefined), nextNews(run, settled.signal)];
  await Promise.race([sleeping, ...news]);
  settled.abort();
}

function nextNews(run: Run, settled: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const stopListening = run.listen(() => resolve());
    settled.addEventListener("abort", () => stopListening(), { once: true });
  });
}
