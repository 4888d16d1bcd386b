/** How work on requests goes on and ends: jobs, their tasks, and the wishes of calls. */
import type { RequestPatch } from "../../../src/ledger/request-rows.ts";
import { beginAttempt, fulfil, isWithService, judgeDriverWrite, noteTask, takeLease } from "./effects.ts";
import { attemptOf, requestOf, Violation } from "./facts.ts";
import type { Operation, Prepare } from "./operations.ts";
import { CHARGES, jobName, pick, pickJob, whileDriving } from "./operations.ts";
import type { Job, World } from "./world.ts";

export const stopDriving: Prepare = (world, { a }) => {
  const job = pickJob(world, a, ({ sendId }) => sendId === null);
  if (job === undefined) return null;
  const { actor, requestId } = job;
  return {
    name: `${actor.id} stops to drive ${requestId}`,
    job,
    run: async () => {
      await world.bench.code.rows.releaseRequest(actor.ledger, requestId);
      world.jobs.delete(jobName(actor, requestId));
      return (facts) => {
        const request = requestOf(facts, requestId);
        if (request.owner === actor.id) takeLease(facts, request, null);
      };
    },
  };
};

/** The task of a job goes on: it runs, ends, is saved, or is tried again after a failure. */
export const proceed: Prepare = (world, { a, b, c }) => {
  const job = pickJob(world, a, ({ sendId, row }) => sendId === null && row.task_id !== null);
  if (job === undefined) return null;
  const { actor, requestId, row } = job;
  if (row.status === "succeeded") return end(world, job, "saved");
  if (row.status !== "queued" && row.status !== "processing" && row.status !== "failed") return null;
  const { rows } = world.bench.code;
  const task = world.findTask(actor.key, row.fingerprint, row.attempt);
  if (row.status !== "failed") {
    if (c % 4 === 1) task.end ??= { status: "failed", charged: pick([0, 0, 150], b) ?? 0 };
    else if (c % 4 !== 0) task.end ??= { status: "succeeded", charged: pick(CHARGES, b) ?? null };
  }
  const status = task.end?.status ?? ("processing" as const);
  const observed = { status, charged: task.end?.charged ?? null, taskId: task.id };
  const patch: RequestPatch =
    row.status === "failed"
      ? rows.buildNextAttempt(row)
      : { status: observed.status, charged_credits: observed.charged };
  return {
    name: `${actor.id} writes of ${requestId}: ${row.status === "failed" ? "next attempt" : observed.status}`,
    job,
    run: async () => {
      const written = await whileDriving(world, job, () => rows.saveAsDriver(actor.ledger, row, patch));
      if (written !== null) Object.assign(job, { row: written, mayHaveSent: false });
      return (facts) => {
        if (!judgeDriverWrite(facts, actor, requestId, row.attempt, written !== null)) return;
        const request = requestOf(facts, requestId);
        if (row.status === "failed") beginAttempt(request);
        else noteTask(attemptOf(request), observed);
      };
    },
  };
};

/** A job ends: its audio is saved, or nobody works on it any more because of an error. Nothing is left to want. */
function end(world: World, job: Job, error: "saved" | "network_error" | "not_found"): Operation {
  const { actor, requestId, row } = job;
  const isSaved = error === "saved";
  const patch: RequestPatch = {
    ...(isSaved ? { status: "saved" } : { error: "{}", error_code: error }),
    ...{ note: null, owner: null, lease_until_steady_ms: 0 },
  };
  return {
    name: `${actor.id} ends ${requestId}: ${error}`,
    job,
    run: async () => {
      const { database } = actor.ledger;
      const written = await whileDriving(world, job, () =>
        database.tx(async (tx, nowSteadyMs) => {
          await world.bench.code.rows.writeAsDriver({ tx, ledger: actor.ledger, nowSteadyMs }, row, patch);
          await tx.deleteFrom("agm_wish").where("target", "=", requestId).execute();
          return true;
        }),
      );
      world.jobs.delete(jobName(actor, requestId));
      return (facts) => {
        if (!judgeDriverWrite(facts, actor, requestId, row.attempt, written !== null)) return;
        const request = requestOf(facts, requestId);
        takeLease(facts, request, null);
        fulfil(facts, requestId);
        request.hasNote = false;
        if (isSaved) attemptOf(request).status = "saved";
        else request.error = error;
      };
    },
  };
}

export const giveUp: Prepare = (world, { a }) => {
  const job = pickJob(world, a, ({ sendId, row }) => sendId === null && row.status !== "succeeded");
  if (job === undefined) return null;
  return end(world, job, job.row.task_id === null ? "network_error" : "not_found");
};

/** A call has returned and lets the work go on, is cancelled, or its handle is cancelled by whatever process. */
export const endWish: Prepare = (world, { a, b, c }) => {
  const wish = pick(Object.values(world.facts.wishes), b);
  if (wish === undefined) return null;
  const actor = world.actor(a);
  const { id, kind, target } = wish;
  const isRequest = world.facts.requests[target] !== undefined;
  const { wishes } = world.bench.code;
  if (kind === "handle" && isRequest) {
    return {
      name: `${actor.id} withdraws the handle ${id} of ${target}`,
      job: null,
      run: async () => {
        const isInTime = await wishes.withdrawWish(actor.ledger, id);
        return (facts) => {
          if (isInTime === isWithService(facts.requests[target]))
            throw new Violation("wish", `a withdrawal was told that it is ${isInTime ? "in time" : "late"}`);
          delete facts.wishes[id];
        };
      },
    };
  }
  const as = c % 3 === 0 ? "self" : "withdrawn";
  return {
    name: `the wish ${id} for ${target} ends: ${as}`,
    job: null,
    run: async () => {
      await wishes.endWish(actor.ledger, id, as);
      return (facts) => {
        const stored = facts.wishes[id];
        if (as === "withdrawn") delete facts.wishes[id];
        else if (stored !== undefined) stored.kind = "self";
      };
    },
  };
};
