/** What happens around requests: narrations, time, and processes that live and die. */
import { judgeDeletedWish, noteWish, takeLease } from "./effects.ts";
import { type NarrationFact, newLease, Violation } from "./facts.ts";
import { type Operation, type Prepare, pick } from "./operations.ts";
import { KEYS, NARRATIONS, TEXTS, type World } from "./world.ts";

const LIMITS = [150, 200, 300, 300, 450, 600];

function narrationOf(facts: World["facts"], id: string): NarrationFact {
  const narration = facts.narrations[id];
  if (narration === undefined) throw new Violation("rows", `there is no ${id}`);
  return narration;
}

/** A call wants a narration: it starts, or a running one gets another limit. */
export const narrate: Prepare = (world, { a, b, c }) => {
  const actor = world.actor(a);
  const id = pick(NARRATIONS, b) ?? NARRATIONS[0];
  const limit = pick(LIMITS, c) ?? 150;
  const wishId = world.newName("wish");
  return {
    name: `${actor.id} wants ${id} for ${limit} credits`,
    job: null,
    run: async () => {
      await actor.ledger.database.tx(async (tx, nowSteadyMs) => {
        const select = tx.selectFrom("agm_narration").select(["status", "run"]).where("id", "=", id);
        const { status, run } = await select.executeTakeFirstOrThrow();
        await tx
          .updateTable("agm_narration")
          .set({ status: "running", max_credits: limit, run: status === "running" ? run : run + 1 })
          .where("id", "=", id)
          .execute();
        const wish = { id: wishId, target: id, kind: "call" } as const;
        await world.bench.code.wishes.addWish({ tx, ledger: actor.ledger, nowSteadyMs }, wish);
      });
      return (facts) => {
        const narration = narrationOf(facts, id);
        if (narration.status !== "running") narration.run += 1;
        Object.assign(narration, { status: "running", limit });
        noteWish(facts, actor, wishId, id, "call");
      };
    },
  };
};

/** Somebody stops a narration, lowers or raises its limit, or moves a part to another request. */
export const changeNarration: Prepare = (world, { a, b, c }) => {
  const { database } = world.actor(a).ledger;
  const id = pick(NARRATIONS, b) ?? NARRATIONS[0];
  const narration = narrationOf(world.facts, id);
  if (narration.status === "planned") return null;
  const kind = pick(["stop", "limit", "limit", "move"] as const, c) ?? "stop";
  const limit = pick([0, ...LIMITS], c + a) ?? 0;
  const position = a % narration.parts.length;
  const fingerprint = pick(TEXTS, b + c) ?? TEXTS[0];
  const change = { stop: "stopped", limit: `limit ${limit}`, move: `part ${position} is ${fingerprint}` }[
    kind
  ];
  return {
    name: `${id}: ${change}`,
    job: null,
    run: async () => {
      await database.tx(async (tx) => {
        if (kind === "move") {
          const update = tx
            .updateTable("agm_part")
            .set({ fingerprint, loose: fingerprint })
            .where("narration", "=", id);
          await update.where("position", "=", position).execute();
          return;
        }
        const set = kind === "stop" ? ({ status: "stopped" } as const) : { max_credits: limit };
        await tx.updateTable("agm_narration").set(set).where("id", "=", id).execute();
        if (kind === "stop") await tx.deleteFrom("agm_wish").where("target", "=", id).execute();
      });
      return (facts) => {
        const changed = narrationOf(facts, id);
        if (kind === "move") changed.parts[position] = fingerprint;
        if (kind === "limit") changed.limit = limit;
        if (kind !== "stop") return;
        changed.status = "stopped";
        for (const wish of Object.values(facts.wishes)) if (wish.target === id) delete facts.wishes[wish.id];
      };
    },
  };
};

/** A living process renews what it has taken. */
export const renew: Prepare = (world, { a }) => {
  const actor = world.actor(a);
  return {
    name: `${actor.id} renews its leases`,
    job: null,
    run: async () => {
      const jobs = [...world.jobs.values()].filter((job) => job.actor.id === actor.id);
      const requests = jobs.map(({ requestId }) => requestId);
      const driven = await world.bench.code.rows.renewLeases(actor.ledger, { requests, narrations: [] });
      return (facts) => {
        for (const request of Object.values(facts.requests)) {
          const isRenewed = request.owner === actor.id && requests.includes(request.id);
          if (driven.has(request.id) !== isRenewed)
            throw new Violation("lease", `a renewal of ${actor.id} is mistaken about ${request.id}`);
          if (isRenewed) takeLease(facts, request, actor.id);
        }
        for (const wish of Object.values(facts.wishes))
          if (wish.process === actor.id) Object.assign(wish, newLease(facts));
      };
    },
  };
};

/** Dead wishes are deleted. */
export const tidy: Prepare = (world, { a }) => {
  const actor = world.actor(a);
  return alone(`${actor.id} deletes dead wishes`, async () => {
    await world.bench.code.sweep.deleteDeadWishes(actor.ledger);
    const left = await actor.ledger.database.run((db) => db.selectFrom("agm_wish").select("id").execute());
    const ids = new Set(left.map(({ id }) => id));
    for (const id of Object.keys(world.facts.wishes))
      if (!ids.has(id)) judgeDeletedWish(world.facts, actor, id);
  });
};

const alone = (name: string, act: () => Promise<void> | void): Operation => ({
  name,
  job: null,
  run: async () => {
    await act();
    return () => undefined;
  },
});

const SPANS_MS = [
  ...[1, 1_000, 1_000, 5_000, 5_000, 10_000, 16_000, 16_000, 20_000, 31_000, 45_000, 59_000, 60_010, 61_000],
  ...[61_000, 91_000, 301_000, 66 * 60_000, 25 * 60 * 60_000],
];

const HURRIED_SPANS_MS = [1, 1, 1_000, 1_000, 1_000, 5_000, 5_000, 10_000, 20_000, 31_000, 59_000, 61_000];

export const passTime: Prepare = (world, { a }) => {
  const ms = pick(world.options.mood === "calm" ? SPANS_MS : HURRIED_SPANS_MS, a) ?? 1;
  return alone(`${ms} ms pass`, () => {
    world.bench.clock.manual.skip(ms);
    world.facts.nowMs += ms;
    world.facts.wallMs += ms;
  });
};

export const setWallClock: Prepare = (world, { a }) => {
  const ms = pick([-26, -1, 1, 26], a) ?? 1;
  return alone(`the wall clock is set by ${ms} hours`, () => {
    world.bench.clock.manual.moveWall(ms * 60 * 60_000);
    world.facts.wallMs += ms * 60 * 60_000;
  });
};

/** The machine starts again: all processes are new, and the steady clock begins anew. */
export const restartMachine: Prepare = (world) =>
  alone("the machine starts again", () => {
    const startMs = 30_000;
    const { manual } = world.bench.clock;
    manual.skip(startMs);
    manual.reboot();
    const { facts } = world;
    facts.nowMs += startMs;
    facts.wallMs += startMs;
    Object.assign(facts, { bootMs: facts.nowMs, bootSteadyMs: manual.steadyMs(), firstReadMs: {} });
    for (const [at, { key }] of world.actors.entries()) world.startProcess(at, key);
  });

/** A process dies, and another one is started in its place, perhaps with the other API key. */
export const die: Prepare = (world, { a, c }) => {
  const at = a % world.actors.length;
  const { id, key } = world.actor(at);
  const nextKey = c % 3 === 0 ? (pick(KEYS, c) ?? key) : key;
  return alone(`${id} dies; a process with ${nextKey} is started`, () => world.startProcess(at, nextKey));
};
