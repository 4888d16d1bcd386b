/** Waits after a 402 for credits that other requests hold: most of them come back when their tasks end. */
import { hasRareStatus } from "../ledger/request-rows.ts";
import { OPEN_STATUSES, type RequestRow } from "../ledger/schema.ts";
import type { StepDeps } from "./job.ts";

/** However long the others run, the service is asked again after this time, because the account may be topped up. */
const MAX_WAIT_MS = 60_000;

/** The account's other tasks at the time of a refusal. */
interface Others {
  /** The requests that hold credits. */
  readonly holders: ReadonlySet<string>;
  /** Whether a task has ended since the refused send left, so that its credits may be there by now. */
  readonly hasOneEnded: boolean;
}

const readOthers = ({ ledger, timing }: StepDeps, refused: RequestRow): Promise<Others> =>
  ledger.database.snapshot(async (tx, nowSteadyMs) => {
    const select = tx
      .selectFrom("agm_current_attempt")
      .select(["id", "status", "is_open", "sent_steady_ms", "polled_steady_ms"])
      .where("api_key_id", "=", ledger.identity.apiKeyId)
      .where("id", "!=", refused.id);
    const open = await select
      .where(hasRareStatus(...OPEN_STATUSES))
      .where("is_open", "=", 1)
      .execute();
    const recent = await select
      .where("spent_at_ms", ">", refused.spent_at_ms - 2 * timing.recoveryTimeoutMs)
      .where("is_open", "=", 0)
      .execute();
    const isHolding = ({ status, sent_steady_ms: sentMs }: (typeof open)[number]): boolean => {
      const lastsMs = status === "unresolved" ? ledger.database.leaseMs : timing.recoveryTimeoutMs;
      return nowSteadyMs - Math.min(sentMs, nowSteadyMs) < lastsMs;
    };
    return {
      holders: new Set(open.filter(isHolding).map(({ id }) => id)),
      hasOneEnded: recent.some(
        ({ polled_steady_ms: endedMs }) => endedMs >= refused.sent_steady_ms && endedMs <= nowSteadyMs,
      ),
    };
  });

/**
 * Waits until a task that held credits has ended, somebody asks for the request again, or a minute has passed.
 *
 * @param refused the row as it was admitted, with the time of its send
 * @returns false if no other request holds credits, so that the refusal is the end
 */
export async function waitForReturnedCredits(deps: StepDeps, refused: RequestRow): Promise<boolean> {
  const { job, clock, timing } = deps;
  const others = await readOthers(deps, refused).catch(() => null);
  if (others?.hasOneEnded === true) return true;
  if (others === null || others.holders.size === 0) return false;
  const untilMs = clock.steadyMs() + MAX_WAIT_MS * timing.timeScale;
  job.askedAgain = new AbortController();
  const signal = AbortSignal.any([job.signal, job.askedAgain.signal]);
  while (clock.steadyMs() < untilMs && !job.askedAgain.signal.aborted) {
    // The process that watched a task may have been killed; without this, nobody would see its end.
    deps.resumeOthers();
    await clock.sleep(Math.min(timing.pollIntervalMs, 1000), signal).catch(() => job.signal.throwIfAborted());
    const { holders } = await readOthers(deps, refused).catch(() => others);
    if ([...others.holders].some((id) => !holders.has(id))) break;
  }
  return true;
}
