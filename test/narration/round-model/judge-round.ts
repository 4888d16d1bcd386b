/** The promises about a narration, judged at each commit of the ledger, at each submission, and after the end. */

import type { Seen, SeenAttempt } from "./observed-ledger.ts";
import type { BookedTask, ScriptedService } from "./scripted-service.ts";
import { Violation } from "./violation.ts";

const RESERVED = 150;
const MAX_FAILURES = 3;

/** A call of generate_audio, and whether the caller has taken it back. */
export interface DirectCall {
  readonly prompt: string;
  readonly take: number;
  isCancelled: boolean;
}

export interface JudgeDeps {
  readonly service: ScriptedService;
  /** Computes the idempotency key of an attempt. */
  readonly keyOf: (attempt: Pick<SeenAttempt, "body" | "take" | "n">) => string;
  readonly before: Seen;
}

export class RoundJudge {
  readonly direct: DirectCall[] = [];
  /** Whether rows were damaged, so that the ledger cannot know all that was spent. */
  isDamaged = false;
  readonly #deps: JudgeDeps;
  #seen: Seen;
  /** The fingerprints that were ever admitted. */
  readonly #begun = new Set<string>();
  /** Who was admitted as payer of an idempotency key, by API key: each may have sent the attempt for another one. */
  readonly #payers = new Map<string, Map<string, string | null>>();
  /** The choices of parts that were made after a request of a later part was stored. */
  readonly #changed = new Set<string>();
  violation: Violation | null = null;

  constructor(deps: JudgeDeps) {
    this.#deps = deps;
    this.#seen = deps.before;
  }

  /** Judges what a commit has changed. A violation is kept, because it must not be caught by the code under test. */
  afterCommit(now: Seen): void {
    const before = this.#seen;
    this.#seen = now;
    for (const part of now.parts) {
      const old = before.parts.find(
        (each) => each.narration === part.narration && each.position === part.position,
      );
      if (old !== undefined && old.fingerprint !== part.fingerprint) this.#changed.add(part.fingerprint);
    }
    for (const attempt of now.attempts) {
      const old = before.attempts.find((each) => each.request === attempt.request && each.n === attempt.n);
      if (attempt.maybe <= (old?.maybe ?? 0) || attempt.send_id === old?.send_id) continue;
      const key = this.#deps.keyOf(attempt);
      if ((old?.maybe ?? 0) === 0) this.#keep(() => this.#judgeAdmission(before, attempt, key));
      const payers = this.#payers.get(key) ?? new Map<string, string | null>();
      this.#payers.set(key, payers.set(attempt.request, attempt.payer));
      this.#begun.add(attempt.fingerprint);
    }
  }

  /** Judges that what is sent was admitted, and stands in the ledger. */
  onSubmit(body: string, key: string): void {
    const isStored = this.#seen.attempts.some(
      (attempt) => attempt.body === body && attempt.maybe > 0 && this.#deps.keyOf(attempt) === key,
    );
    if (!isStored && !this.isDamaged)
      this.#keep(() => {
        throw new Violation("admission", "something was sent that does not stand in the ledger as sent");
      });
  }

  #keep(judge: () => void): void {
    try {
      judge();
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      this.violation ??= error;
    }
  }

  #judgeAdmission(before: Seen, attempt: SeenAttempt, key: string): void {
    const { payer, payer_run: run } = attempt;
    if (payer === null) {
      const { prompt } = JSON.parse(attempt.body);
      const isCalled = this.direct.some(
        (call) => !call.isCancelled && call.take === attempt.take && isTypedLike(call.prompt, prompt),
      );
      if (!isCalled) throw new Violation("payer", "a caller pays who has not called, or has cancelled");
      return;
    }
    const narration = before.narrations.find(({ id }) => id === payer);
    if (narration?.status !== "running") throw new Violation("stopped", `${payer} pays, and does not run`);
    if (run !== narration.run)
      throw new Violation("payer", `run ${run} of ${payer} pays in run ${narration.run}`);
    const parts = before.parts.filter((part) => part.narration === payer);
    if (!parts.some(({ fingerprint }) => fingerprint === attempt.fingerprint))
      throw new Violation("payer", `${payer} pays for what is none of its parts`);
    const spent = this.spentOf(payer, before, key);
    if (!this.isDamaged && spent + RESERVED > (narration.max_credits ?? 0))
      throw new Violation("limit", `${payer} has spent ${spent} of ${narration.max_credits}`);
    this.#judgeFailures(before, attempt, payer, run);
    const wanting = new Set(
      before.parts
        .filter(({ fingerprint }) => fingerprint === attempt.fingerprint)
        .map((part) => part.narration)
        .filter((id) => before.narrations.some((each) => each.id === id && each.status === "running")),
    );
    const isInOrder = [...wanting].some((id) => this.#isInOrder(before, id, attempt.fingerprint));
    if (attempt.n === 1 && !isInOrder && !this.isDamaged)
      throw new Violation("order", `a part of ${payer} is begun before an earlier one`);
  }

  #judgeFailures(before: Seen, attempt: SeenAttempt, payer: string, run: number): void {
    if (this.isDamaged) return;
    const failed = before.attempts
      .filter((each) => each.request === attempt.request && each.n < attempt.n && each.status === "failed")
      .filter((each) => each.payer === payer && each.payer_run === run)
      .map((each) => this.#deps.service.tasks.find(({ id }) => id === each.task_id));
    if (failed.length >= MAX_FAILURES) throw new Violation("failures", `${payer} tries a part a fourth time`);
    if (failed.some((task) => (task?.charge ?? 0) > 0))
      throw new Violation("failures", `${payer} tries a part again that failed with a cost`);
  }

  #isInOrder(before: Seen, narration: string, fingerprint: string): boolean {
    for (const part of before.parts.filter((each) => each.narration === narration)) {
      if (part.fingerprint === fingerprint) return true;
      const isBegun = this.#begun.has(part.fingerprint) || part.problem !== null;
      if (!isBegun && !this.#changed.has(part.fingerprint)) return false;
    }
    return false;
  }

  /** What a narration has spent by the books of the service, and by sends that may have arrived. */
  spentOf(narration: string, seen: Seen = this.#seen, except: string | null = null): number {
    const { service, keyOf } = this.#deps;
    let spent = 0;
    const counted = new Set<string>();
    for (const task of service.tasks) {
      if (task.key === except || this.paysFor(narration, task) !== "alone") continue;
      counted.add(task.key);
      spent += service.costOf(task);
    }
    for (const attempt of seen.attempts) {
      if (attempt.payer !== narration || attempt.maybe === 0 || attempt.task_id !== null) continue;
      const key = keyOf(attempt);
      if (key === except || counted.has(key)) continue;
      counted.add(key);
      spent += RESERVED;
    }
    return spent;
  }

  /** Whether a narration pays for a task. Two API keys may have sent it for different payers. */
  paysFor(narration: string, { key }: BookedTask): "alone" | "perhaps" | "not" {
    const payers = [...(this.#payers.get(key)?.values() ?? [])];
    if (!payers.includes(narration)) return "not";
    return payers.every((payer) => payer === narration) ? "alone" : "perhaps";
  }

  /** The tasks that succeeded for a text and a take. */
  succeeded(body: string, take: number): BookedTask[] {
    const { service, keyOf } = this.#deps;
    const keys = new Set(Array.from({ length: 30 }, (_, n) => keyOf({ body, take, n: n + 1 })));
    return service.tasks.filter((task) => task.end === "succeeded" && keys.has(task.key));
  }

  /** Judges that nothing has succeeded twice. */
  judgeBooks(): void {
    const counts = new Map<string, number>();
    for (const { body, end } of this.#deps.service.tasks)
      if (end === "succeeded") counts.set(body, (counts.get(body) ?? 0) + 1);
    for (const [body, count] of counts) {
      const takes = [1, 2, 3].filter((take) => this.succeeded(body, take).length > 0);
      if (count > takes.length)
        throw new Violation("twice", `${count} tasks succeeded for ${takes.length} takes`);
      const twice = takes.find((take) => this.succeeded(body, take).length > 1);
      if (twice !== undefined) throw new Violation("twice", `take ${twice} was made twice`);
    }
  }
}

/** Whether one text is the other, typed again. */
const isTypedLike = (one: string, other: string): boolean =>
  one.replaceAll(/[\s"“”]/g, "") === other.replaceAll(/[\s"“”]/g, "");
