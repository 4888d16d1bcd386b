/** Waits after a 402 for credits that other requests hold: most of them come back when their tasks end. */
import type { RequestRow } from "../ledger/schema.ts";
import type { Job, StepDeps } from "./job.ts";

/** However long the others run, the service is asked again after this time, because the account may be topped up. */
const MAX_WAIT_MS = 60_000;

interface OtherTask {
  readonly id: string;
  readonly holds: boolean;
  readonly hasEndedSince: boolean;
}

/** Lists the account's other attempts that hold credits, or have ended since the refused send left. */
async function listOthers({ ledger, clock, timing }: StepDeps, refused: RequestRow): Promise<OtherTask[]> {
  const nowMs = clock.wallMs();
  const sentAtMs = refused.spent_at_ms;
  return await ledger.database.snapshot(async (tx, nowSteadyMs) => {
    const rows = await tx
      .selectFrom("agm_task")
      .select(["id", "is_open", "status", "sent_steady_ms", "finished_at_ms"])
      .where("api_key_id", "=", ledger.identity.apiKeyId)
      .where("id", "!=", refused.id)
      .where((eb) =>
        eb.or([
          eb("id", "in", (select) =>
            select
              .selectFrom("agm_attempt")
              .select("request")
              .where("status", "in", ["unresolved", "queued", "processing"]),
          ),
          eb("id", "in", (select) =>
            select
              .selectFrom("agm_attempt")
              .select("request")
              .where("spent_at_ms", ">", sentAtMs - 2 * timing.recoveryTimeoutMs),
          ),
        ]),
      )
      .execute();
    return rows.map(({ id, is_open, status, sent_steady_ms, finished_at_ms }) => {
      const sentMs = nowSteadyMs - Math.min(sent_steady_ms, nowSteadyMs);
      const lastsMs = status === "unresolved" ? ledger.database.leaseMs : timing.recoveryTimeoutMs;
      return {
        id,
        holds: is_open === 1 && sentMs < lastsMs,
        // An end in the future was written by a clock that was ahead, and would count for ever.
        hasEndedSince: finished_at_ms !== null && finished_at_ms >= sentAtMs && finished_at_ms <= nowMs,
      };
    });
  });
}

/**
 * Waits until a task that held credits has ended, somebody asks for the request again, or a minute has passed.
 *
 * @param refused the row as it was admitted, with the time of its send
 * @returns false if no other request holds credits, so that the refusal is the end
 */
export async function waitForReturnedCredits(
  job: Job,
  deps: StepDeps,
  refused: RequestRow,
): Promise<boolean> {
  const { clock, timing } = deps;
  const others = await listOthers(deps, refused).catch(() => []);
  if (others.some(({ hasEndedSince }) => hasEndedSince)) return true;
  const holders = new Set(others.filter(({ holds }) => holds).map(({ id }) => id));
  if (holders.size === 0) return false;
  const untilMs = clock.steadyMs() + MAX_WAIT_MS * timing.timeScale;
  job.askedAgain = new AbortController();
  const signal = AbortSignal.any([job.signal, job.askedAgain.signal]);
  while (clock.steadyMs() < untilMs && !job.askedAgain.signal.aborted) {
    // The process that watched a task may have been killed; without this, nobody would see its end.
    deps.resumeOthers();
    await clock.sleep(Math.min(timing.pollIntervalMs, 1000), signal).catch(() => job.signal.throwIfAborted());
    const now = await listOthers(deps, refused).catch(() => others);
    const held = new Set(now.filter(({ holds }) => holds).map(({ id }) => id));
    if ([...holders].some((id) => !held.has(id))) break;
  }
  return true;
}
