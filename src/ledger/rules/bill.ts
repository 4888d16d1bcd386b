/** What a narration has reserved or was charged: the sum over the tasks that were sent for it. Pure. */

/** One request that was sent for a narration, under one API key. */
export interface BillLine {
  readonly workId: string;
  readonly keyId: string;
  readonly recordId: string;
  /** The reservation while the task runs, then its charge; 0 once nothing counts. */
  readonly credits: number;
}

/**
 * Credits of each work. A task counts once, whatever key sent it: this key's line counts as soon as it has credits,
 * because the service has then answered this key; until then the line of an earlier key counts.
 */
export function billByWork(lines: readonly BillLine[], keyId: string): Map<string, number> {
  const own = new Map<string, number>();
  const others = new Map<string, number>();
  for (const line of lines) {
    const side = line.keyId === keyId ? own : others;
    side.set(line.workId, Math.max(line.credits, side.get(line.workId) ?? 0));
  }
  for (const [workId, credits] of own) if (credits > 0) others.set(workId, credits);
  return others;
}

export function billedCredits(lines: readonly BillLine[], keyId: string, exceptWorkId?: string): number {
  let sum = 0;
  for (const [workId, credits] of billByWork(lines, keyId)) if (workId !== exceptWorkId) sum += credits;
  return sum;
}
