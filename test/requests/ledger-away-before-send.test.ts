/** A request that was promised to go on by itself is sent although the ledger was away when its turn came. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import type { ObservedTask } from "../../src/api/parse-task.ts";
import { AudioError } from "../../src/errors.ts";
import type { Database } from "../../src/ledger/database.ts";
import { createRequests } from "../../src/requests/requests.ts";
import { createFailingService, makeDeps, requestOf } from "./request-setup.ts";

const queued: ObservedTask = {
  taskId: "task-1",
  status: "queued",
  billing: null,
  audioSeconds: null,
  output: null,
  error: null,
  deviations: [],
};

/** A database that refuses every use while `isAway` says so. */
function withOutages(database: Database, isAway: () => boolean): Database {
  return new Proxy(database, {
    get(inner, name) {
      const member: unknown = Reflect.get(inner, name, inner);
      if (typeof member !== "function") return member;
      const isUse = name === "run" || name === "tx" || name === "snapshot";
      return (...args: unknown[]): unknown =>
        isUse && isAway()
          ? Promise.reject(new AudioError("store_unavailable", "The ledger is away."))
          : Reflect.apply(member, inner, args);
    },
  });
}

it("sends a request whose turn came while the ledger was away", async () => {
  let isAway = false;
  let submissions = 0;
  const { clock, deps } = await makeDeps(() => ({
    ...createFailingService(),
    submit: async () => {
      submissions += 1;
      if (submissions > 1) return queued;
      throw new AudioError("rate_limit", "Too many.", { httpStatus: 429, retryAfterSeconds: 30 });
    },
    query: async () => queued,
  }));
  const database = withOutages(deps.ledger.database, () => isAway);
  const { requests } = createRequests({ ...deps, ledger: { ...deps.ledger, database } });
  onTestFinished(async () => {
    isAway = false;
    await requests.close();
  });
  const passSeconds = async (count: number): Promise<void> => {
    for (let second = 0; second < count; second += 1) {
      await clock.advance(1000);
      // Files are read and written in real time.
      await sleep(5);
    }
  };
  const call = { signal: new AbortController().signal, waitMs: 0, onProgress: () => {} };
  const answer = requests.generate(requestOf("Waits for its turn"), call);
  await passSeconds(15);
  expect(await answer).toMatchObject({ status: "waiting" });

  isAway = true;
  await passSeconds(40);
  expect(submissions).toBe(1);
  isAway = false;
  await passSeconds(5);
  expect(submissions).toBe(2);
});
