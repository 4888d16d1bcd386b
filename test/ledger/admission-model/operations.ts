/** What can happen to requests: each operation calls the ledger, and says how the facts judge the answer. */

import type { RequestPatch } from "../../../src/ledger/request-rows.ts";
import type { RequestRow } from "../../../src/ledger/schema.ts";
import type { Begun } from "../../../src/requests/begin.ts";
import {
  beginAttempt,
  isDriven,
  noteAnswered,
  noteTask,
  noteWish,
  takeLease,
  takeSendBack,
} from "./effects.ts";
import { attemptOf, type Facts, type RequestFact, requestOf, unsentAttempt, Violation } from "./facts.ts";
import { type AskAnswer, judgeAsk } from "./judge-admission.ts";
import { type Actor, type Job, NARRATIONS, TEXTS, type World } from "./world.ts";

/** Judges what a call has answered, and notes what it has changed. */
export type Judge = (facts: Facts) => void;

export interface Operation {
  readonly name: string;
  /** The job that does it: a job does one thing after the other. `null` if it is not the work of a job. */
  readonly job: Job | null;
  readonly run: () => Promise<Judge>;
}

/** Numbers that choose among what is possible. */
export interface Choice {
  readonly a: number;
  readonly b: number;
  readonly c: number;
}

/** Returns an operation, or `null` if there is nothing that it could be done to. */
export type Prepare = (world: World, choice: Choice) => Operation | null;

export const pick = <T>(from: readonly T[], at: number): T | undefined => from[at % from.length];

export const jobName = (actor: Actor, requestId: string): string => `${actor.id} ${requestId}`;
const listRequests = (world: World, { key }: Actor): RequestFact[] =>
  Object.values(world.facts.requests).filter((request) => request.key === key);

/** A call that may lose the lease: then its job has ended. */
export async function whileDriving<T>(world: World, job: Job, call: () => Promise<T>): Promise<T | null> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof world.bench.code.ledger.LeaseLostError)) throw error;
    world.jobs.delete(jobName(job.actor, job.requestId));
    return null;
  }
}

const buildFresh = ({ bench }: World, { ledger, key }: Actor, text: string) => {
  const part = {
    body: `{"prompt":"${text}"}`,
    loose: text,
    fingerprint: text,
    asked: null,
    written: null,
    take: 1,
  };
  return { ...bench.code.prepare.buildNewRequest(ledger, part, true), id: `${text}@${key}` };
};

/** Notes what both ways to begin do to the row of an earlier request. A driven row stays as it is. */
function reopen(facts: Facts, request: RequestFact, { row }: Begun, mayBeginAttempt: boolean): void {
  const driven = isDriven(facts, request);
  const begins = attemptOf(request).status === "failed" && mayBeginAttempt;
  // After a restart, the ledger may take a dead driver for a living one.
  const isLeft = begins ? row.attempt === request.attempt : row.error_code === request.error;
  if (driven === "yes" || (driven === "perhaps" && isLeft)) return;
  if (begins) beginAttempt(request);
  else request.error = null;
}

export const begin: Prepare = (world, { a, b, c }) => {
  const actor = world.actor(a);
  const text = pick(TEXTS, b) ?? TEXTS[0];
  const kind = pick(["call", null, "handle", null] as const, c) ?? null;
  return beginAs(world, actor, text, kind, c % 5 !== 0);
};

function beginAs(
  world: World,
  actor: Actor,
  text: string,
  kind: "call" | "handle" | null,
  mayBeginAttempt: boolean,
): Operation {
  const fresh = buildFresh(world, actor, text);
  const wish = kind === null ? null : { id: world.newName("wish"), kind };
  return {
    name: `${actor.id} begins ${fresh.id} (${kind}${mayBeginAttempt ? "" : ", looks"})`,
    job: null,
    run: async () => {
      if (wish?.kind === "handle") await openHandle(actor, wish.id);
      const begun = await world.bench.code.begin.beginRequest(actor.ledger, fresh, { wish, mayBeginAttempt });
      return (facts) => {
        const known = facts.requests[fresh.id];
        if (known === undefined) facts.requests[fresh.id] = newRequest(fresh.id, actor.key, text);
        else reopen(facts, known, begun, mayBeginAttempt);
        if (wish !== null) noteWish(facts, actor, wish.id, fresh.id, wish.kind);
      };
    },
  };
}

/** Stores the row of a call that is answered as an MCP task. */
const openHandle = ({ ledger, id: process, key }: Actor, id: string): Promise<unknown> =>
  ledger.database.run((db) =>
    db
      .insertInto("agm_handle")
      .values({
        ...{ id, api_key_id: key, tool: "generate_audio", args: id, process, target: null, message: "" },
        ...{ status: "working", result: null, created_at_ms: 0, updated_at_ms: 0 },
      })
      .execute(),
  );

const newRequest = (id: string, key: string, fingerprint: string): RequestFact => ({
  ...{ id, key, fingerprint, owner: null, leaseUntilMs: 0, leasedAtMs: 0, error: null, hasNote: false },
  attempt: 1,
  attempts: { 1: unsentAttempt() },
});

/** A call under a new API key takes a task over that another API key of the account had made. */
export const adopt: Prepare = (world, { a, b }) => {
  const actor = world.actor(a);
  const others = Object.values(world.facts.requests).filter(
    (request) => request.key !== actor.key && attemptOf(request).taskId !== null,
  );
  const other = pick(others, b);
  if (other === undefined || !world.options.isOneAccount) return null;
  const { code, clock } = world.bench;
  const id = `${other.fingerprint}@${actor.key}`;
  return {
    name: `${actor.id} takes the task of ${other.id} over`,
    job: null,
    run: async () => {
      const row = await actor.ledger.database.run((db) => code.rows.readRequest(db, other.id));
      if (row === undefined || row.task_id === null) return () => undefined;
      const { end } = world.findTask(other.key, other.fingerprint, row.attempt);
      const nowMs = clock.wallMs();
      const fresh = {
        ...row,
        ...{ id, api_key_id: actor.key, maybe: 0, error: null, error_code: null, note: null },
        ...({ status: end?.status ?? "processing", charged_credits: end?.charged ?? null } as const),
        ...{ file_name: null, replaces: null, owner: null, lease_until_steady_ms: 0, polled_steady_ms: 0 },
        ...{ sent_steady_ms: 0, created_at_ms: nowMs, updated_at_ms: nowMs },
      };
      const options = { wish: null, mayBeginAttempt: false } as const;
      const begun = await code.begin.beginRequest(actor.ledger, fresh, options);
      return (facts) => noteAdoption(facts, fresh, begun);
    },
  };
};

type Adopted = Pick<RequestRow, "id" | "api_key_id" | "fingerprint" | "attempt" | "status" | "send_id"> &
  Pick<RequestRow, "task_id" | "charged_credits" | "payer" | "payer_run" | "spent_at_ms">;

function noteAdoption(facts: Facts, fresh: Adopted, begun: Begun): void {
  const known = facts.requests[fresh.id];
  if (known !== undefined) {
    const { taskId, maybe } = attemptOf(known);
    reopen(facts, known, begun, false);
    if (taskId !== null || known.attempt > fresh.attempt) return;
    if (maybe > 0 && known.attempt !== fresh.attempt) return;
  }
  const request = known ?? { ...newRequest(fresh.id, fresh.api_key_id, fresh.fingerprint), attempts: {} };
  const adopted = {
    ...{ status: fresh.status, maybe: 0, sendId: fresh.send_id, sentMs: facts.nowMs },
    ...{ payer: fresh.payer, run: fresh.payer_run },
    ...{ spentAtWallMs: fresh.spent_at_ms, taskId: fresh.task_id, charged: fresh.charged_credits },
  };
  const { attempt } = fresh;
  // An attempt that this API key has made itself stays what it is.
  if (attempt === request.attempt || request.attempts[attempt] === undefined)
    request.attempts[attempt] = adopted;
  Object.assign(request, { attempt, error: null, hasNote: false });
  facts.requests[request.id] = request;
}

function acquireAs(world: World, actor: Actor, requestId: string, retriesErrors: boolean): Operation {
  return {
    name: `${actor.id} wants to drive ${requestId}`,
    job: null,
    run: async () => {
      const change = retriesErrors ? { error: null, error_code: null } : {};
      const { row, isMine } = await world.bench.code.rows.acquireRequest(actor.ledger, requestId, change);
      if (isMine && row !== undefined && !world.jobs.has(jobName(actor, requestId))) {
        const job = { actor, requestId, row, sendId: null, mayHaveSent: false };
        world.jobs.set(jobName(actor, requestId), job);
      }
      return (facts) => {
        const known = requestOf(facts, requestId);
        const driven = known.owner === actor.id ? "no" : isDriven(facts, known);
        if (driven !== "perhaps" && (driven === "no") !== isMine)
          throw new Violation("lease", `${actor.id} ${isMine ? "got" : "did not get"} it: ${known.owner}`);
        if (!isMine) return;
        takeLease(facts, known, actor.id);
        if (retriesErrors) known.error = null;
      };
    },
  };
}

export const acquire: Prepare = (world, { a, b, c }) => {
  const actor = world.actor(a);
  const request = pick(listRequests(world, actor), b);
  if (request === undefined || world.jobs.has(jobName(actor, request.id))) return null;
  return acquireAs(world, actor, request.id, c % 2 === 0);
};

/** A process says nothing for longer than its lease while it waits for an answer, and another one takes over. */
export const takeOver: Prepare = (world, { a, b }) => {
  const job = pickJob(world, a, ({ sendId }) => sendId !== null);
  if (job === undefined) return null;
  const { requestId } = job;
  const isOther = (actor: Actor) => actor.key === job.actor.key && !world.jobs.has(jobName(actor, requestId));
  const other = pick(world.actors.filter(isOther), b);
  if (other === undefined) return null;
  const acquired = acquireAs(world, other, requestId, true);
  return {
    ...acquired,
    name: `${job.actor.id} is silent for ${SILENT_MS} ms; ${acquired.name}`,
    run: async () => {
      world.bench.clock.manual.skip(SILENT_MS);
      world.facts.nowMs += SILENT_MS;
      world.facts.wallMs += SILENT_MS;
      return await acquired.run();
    },
  };
};
const SILENT_MS = 16_000;

export const pickJob = (world: World, at: number, fits: (job: Job) => boolean): Job | undefined =>
  pick([...world.jobs.values()].filter(fits), at);

/** A job asks for leave; one that has it already asks again, as after a lost answer. */
export const ask: Prepare = (world, { a }) => {
  const job = pickJob(world, a, ({ row }) => row.status === "waiting" || row.status === "unresolved");
  return job === undefined ? null : askAs(world, job);
};

function askAs(world: World, job: Job): Operation {
  const { actor, requestId, mayHaveSent: mayResend } = job;
  const sendId = job.sendId ?? world.newName("send");
  const question = { requestId, sendId, mayResend, budget: world.options.budget };
  return {
    name: `${actor.id} asks for leave for ${requestId} as ${sendId}`,
    job,
    run: async () => {
      const { requestAdmission } = world.bench.code.admission;
      const answer: AskAnswer = (await whileDriving(world, job, () =>
        requestAdmission(actor.ledger, { id: requestId }, sendId, mayResend),
      )) ?? { kind: "lease_lost" };
      if (answer.kind === "admitted") Object.assign(job, { row: answer.row, sendId, mayHaveSent: true });
      return (facts) => judgeAsk(facts, actor, question, answer);
    },
  };
}

const ANSWERS = [
  ...["accepted", "accepted", "accepted", "accepted", "accepted", "refused", "refused"],
  ...["unanswered", "unanswered", "unsent", "too_many", "failed", "succeeded"],
] as const;
const HURRIED_ANSWERS = [
  ...["refused", "refused", "refused", "refused", "unsent", "accepted", "accepted", "unanswered"],
  ...["failed", "succeeded", "succeeded", "too_many", "too_many"],
] as const;
const COOLDOWNS_MS = [1_000, 1_000, 60_000, 600_000];
export const CHARGES = [10, 20, 75, 150, null] as const;

/** A send is answered, or it is known that no answer comes. */
export const answer: Prepare = (world, { a, b, c }) => {
  const job = pickJob(world, a, ({ sendId }) => sendId !== null);
  const kind = pick(world.options.mood === "calm" ? ANSWERS : HURRIED_ANSWERS, c) ?? "accepted";
  if (job?.sendId === undefined || job.sendId === null) return null;
  if (world.options.mood === "silent" && c % 3 !== 0) return null;
  return answerAs(world, job, job.sendId, kind, b);
};

function answerAs(
  world: World,
  job: Job,
  sendId: string,
  kind: (typeof ANSWERS)[number],
  b: number,
): Operation {
  const { actor, requestId, row } = job;
  const task = world.findTask(actor.key, row.fingerprint, row.attempt);
  const isAccepted = kind === "accepted" || kind === "failed" || kind === "succeeded";
  if (kind === "failed") task.end ??= { status: "failed", charged: pick([0, 0, 150], b) ?? 0 };
  if (kind === "succeeded") task.end ??= { status: "succeeded", charged: pick(CHARGES, b) ?? null };
  // The answer may be older than the end of the task.
  const end = kind === "accepted" && b % 2 === 0 ? null : task.end;
  const observed = { status: end?.status ?? "queued", charged: end?.charged ?? null } as const;
  const cooldownMs = kind === "too_many" ? pick(COOLDOWNS_MS, b) : undefined;
  const mayHaveArrived = isAccepted || kind === "unanswered";
  const result = {
    sendId,
    wasSent: kind !== "unsent",
    mayHaveArrived,
    ...(cooldownMs === undefined ? {} : { cooldownMs }),
  };
  const patch: RequestPatch = isAccepted
    ? {
        ...{ status: observed.status, charged_credits: observed.charged, task_id: task.id },
        ...{ accepted_at_ms: 1, maybe: 0, note: null },
      }
    : kind === "unanswered"
      ? { note: "{}" }
      : { note: kind === "unsent" ? "{}" : null };
  return {
    name: `the send ${sendId} of ${actor.id} for ${requestId} is ${kind}`,
    job,
    run: async () => {
      const { recordSendResult } = world.bench.code.admission;
      const written = await whileDriving(world, job, () =>
        recordSendResult(actor.ledger, row, result, patch),
      );
      Object.assign(job, { sendId: null, row: written ?? row });
      if (kind !== "unanswered" && row.maybe < 2) job.mayHaveSent = false;
      if (written !== null && written.owner !== actor.id) world.jobs.delete(jobName(actor, requestId));
      return (facts) => {
        const request = requestOf(facts, requestId);
        const attempt = attemptOf(request);
        // What the service says of the account counts, whoever drives by now.
        noteAnswered(facts, sendId, result.wasSent);
        if (cooldownMs !== undefined)
          facts.cooldowns.push({ key: actor.key, atMs: facts.nowMs, untilMs: facts.nowMs + cooldownMs });
        const isOpen = request.attempt === row.attempt && attempt.taskId === null;
        const isDriver = request.owner === actor.id;
        if ((written !== null) !== (isAccepted || isDriver))
          throw new Violation(
            "lease",
            `${actor.id} wrote an answer: ${written !== null}; ${request.owner} drives`,
          );
        if (!isOpen) return;
        if (isAccepted) {
          // Whoever had a task of the account first pays for it.
          const first = Object.values(facts.requests)
            .filter(({ id }) => id !== requestId)
            .flatMap((other) => Object.values(other.attempts))
            .find(({ taskId }) => taskId === task.id);
          noteTask(attempt, { ...observed, taskId: task.id });
          if (first !== undefined) Object.assign(attempt, { payer: first.payer, run: first.run });
        } else if (kind !== "unanswered") takeSendBack(attempt);
        if (isDriver) {
          takeLease(facts, request, actor.id);
          request.hasNote = kind === "unanswered" || kind === "unsent";
        } else if (isAccepted) request.error = null;
      };
    },
  };
}

/** Does one thing after the other. Each is prepared when its turn comes; `null` ends it. */
export function inTurn(name: string, next: (done: number) => Operation | null): Operation {
  return {
    name,
    job: null,
    run: async () => {
      const judges: Judge[] = [];
      for (let operation = next(0); operation !== null; operation = next(judges.length))
        judges.push(await operation.run());
      return (facts) => {
        for (const judge of judges) judge(facts);
      };
    },
  };
}

/** Sends of a job leave one after the other, and each is refused at once or does not leave. */
export const sendOften: Prepare = (world, { a, b, c }) => {
  const job = pickJob(world, a, ({ sendId, row }) => sendId === null && row.status === "waiting");
  if (job === undefined) return null;
  const count = 1 + (b % 4);
  const kind = c % 4 === 0 ? "unsent" : "refused";
  const name = `up to ${count} sends of ${job.actor.id} for ${job.requestId} are ${kind}`;
  return inTurn(name, (done) => {
    if (done % 2 === 1) return job.sendId === null ? null : answerAs(world, job, job.sendId, kind, 0);
    return done < 2 * count && job.row.status === "waiting" ? askAs(world, job) : null;
  });
};

/** Parts of a narration are begun, and a process begins to drive them. */
export const beginParts: Prepare = (world, { a, b, c }) => {
  const actor = world.actor(a);
  const narration = world.facts.narrations[pick(NARRATIONS, b) ?? ""];
  if (narration === undefined) return null;
  const from = c % narration.parts.length;
  const texts = [narration.parts[from], narration.parts[(from + 1) % narration.parts.length]];
  return inTurn(`${actor.id} begins and drives the parts ${texts.join(", ")}`, (done) => {
    const text = texts[Math.floor(done / 2)];
    if (text === undefined) return null;
    return done % 2 === 0
      ? beginAs(world, actor, text, null, true)
      : acquireAs(world, actor, `${text}@${actor.key}`, true);
  });
};

/** An admission is taken back that was not used. The job ends with it. */
export const takeBack: Prepare = (world, { a }) => {
  const job = pickJob(world, a, ({ sendId }) => sendId !== null);
  if (job?.sendId === undefined || job.sendId === null) return null;
  const { actor, requestId, sendId } = job;
  return {
    name: `${actor.id} takes ${sendId} for ${requestId} back`,
    job,
    run: async () => {
      await world.bench.code.admission.releaseAdmission(actor.ledger, requestId, sendId);
      world.jobs.delete(jobName(actor, requestId));
      return (facts) => {
        facts.sends = facts.sends.filter(({ id }) => id !== sendId);
        const attempt = attemptOf(requestOf(facts, requestId));
        if (attempt.sendId !== sendId || attempt.taskId !== null) return;
        takeSendBack(attempt);
        attempt.sendId = null;
      };
    },
  };
};
