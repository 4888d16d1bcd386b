/** The rules about limits, outages and the version (docs/contract.md, Errors, Limits and Versions). */
import { expect, onTestFinished } from "vitest";
import {
  MAX_CONCURRENT_TASKS,
  READS_PER_WINDOW,
  RETRY_AFTER_SECONDS,
  SUBMISSIONS_PER_WINDOW,
} from "../../../src/contract/service-limits.ts";
import { GENERATIONS_PATH } from "../../../src/contract/wire.ts";
import type { RuleBook } from "../rule-book.ts";
import {
  type Answer,
  answeredTaskOf,
  expectError,
  newKey,
  type ServiceClient,
  SHORT_INPUT,
} from "../service-client.ts";

/** Maximum number of bursts. A burst that takes longer than the limit window proves nothing, so it is repeated. */
const BURST_ATTEMPTS = 5;

function expectLimited(answer: Answer | undefined, code: string): void {
  if (answer === undefined) throw new Error("nothing was refused");
  expectError(answer, 429, code);
  expect(answer.headers.get("retry-after")).toBe(String(RETRY_AFTER_SECONDS));
}

export function limitRules(book: RuleBook, client: ServiceClient): void {
  const { target } = client;
  const impatient = { patient: false };

  /** Waits until the limit windows are empty, sends `count` requests at once, and returns the responses with 429. */
  const refusedOf = async (count: number, request: (index: number) => Promise<Answer>): Promise<Answer[]> => {
    for (let attempt = 1; ; attempt += 1) {
      await client.quiet();
      const startMs = performance.now();
      const answers = await Promise.all(Array.from({ length: count }, (_, index) => request(index)));
      const tooSlow = performance.now() - startMs >= target.limitWindowMs;
      if (!tooSlow || attempt === BURST_ATTEMPTS) return answers.filter((answer) => answer.status === 429);
    }
  };

  book.rule(
    "8 Create requests",
    "the seventh create in a minute is 429 rate_limit; replays count",
    async () => {
      await client.mainTask();
      const refused = await refusedOf(SUBMISSIONS_PER_WINDOW + 1, () =>
        client.create(SHORT_INPUT, { ...impatient, key: client.mainKey }),
      );
      expect(refused).toHaveLength(1);
      expectLimited(refused[0], "rate_limit");
    },
  );
  book.rule("8 Queries and downloads", "the sixty-first query in a minute is 429 rate_limit", async () => {
    const { id } = await client.mainTask();
    const refused = await refusedOf(READS_PER_WINDOW + 1, () => client.query(id, impatient));
    expect(refused).toHaveLength(1);
    expectLimited(refused[0], "rate_limit");
  });
  book.rule("4.3.3", "downloads count toward the limit of queries", async () => {
    const { id } = await client.mainTask();
    const refused = await refusedOf(READS_PER_WINDOW + 1, (index) =>
      index % 2 === 0
        ? client.query(id, impatient)
        : client.content(id, { ...impatient, headers: { range: "bytes=0-0" } }),
    );
    expect(refused).toHaveLength(1);
  });
  book.ruleWith(
    target.secondKey,
    "a second key of the account",
    "8 Scope",
    "all keys of an account share its limits",
    async (apiKey) => {
      const { id } = await client.mainTask();
      const refused = await refusedOf(READS_PER_WINDOW + 1, (index) =>
        client.query(id, { ...impatient, ...(index % 2 === 0 ? {} : { apiKey }) }),
      );
      expect(refused).toHaveLength(1);
    },
  );
  book.rule("8 In-flight tasks", "a third task in flight is 429 concurrency_limit", async (context) => {
    await client.quiet();
    const open: string[] = [];
    for (let count = 0; count < MAX_CONCURRENT_TASKS; count += 1) {
      open.push((await client.created({ prompt: `In flight ${count}.` })).id);
    }
    const third = await client.create({ prompt: "One too many." }, impatient);
    if (third.status === 202) {
      const states = await Promise.all(open.map(async (id) => answeredTaskOf(await client.query(id)).status));
      if (states.includes("succeeded")) context.skip("the tasks finished before the third was sent");
    }
    expectLimited(third, "concurrency_limit");
  });
  book.ruleWith(
    target.setFaults,
    "fault controls",
    "8 Site capacity",
    "a site at capacity is 429, and takes the same key later",
    async (setFaults) => {
      onTestFinished(() => setFaults({ capacity_full: false }));
      await client.quiet();
      const key = newKey();
      await setFaults({ capacity_full: true });
      expectLimited(await client.create(SHORT_INPUT, { ...impatient, key }), "concurrency_limit");
      await setFaults({ capacity_full: false });
      await client.created(SHORT_INPUT, { key });
    },
  );
  for (const code of ["api_unavailable", "temporarily_unavailable"] as const) {
    book.ruleWith(
      target.setFaults,
      "fault controls",
      "7 503",
      `every endpoint can be 503 ${code}, and the task and key survive`,
      async (setFaults) => {
        const { id } = await client.mainTask();
        onTestFinished(() => setFaults({ unavailable: null }));
        await setFaults({ unavailable: code });
        expectError(await client.create(SHORT_INPUT, { key: client.mainKey }), 503, code);
        expectError(await client.query(id), 503, code);
        expectError(await client.content(id), 503, code);
        await setFaults({ unavailable: null });
        expect((await client.created(SHORT_INPUT, { key: client.mainKey })).id).toBe(id);
      },
    );
  }

  book.rule("9.1", "the version is the path's prefix: another version is not there", async () => {
    const { id } = await client.mainTask();
    const answer = await client.send("GET", `${GENERATIONS_PATH.replace("/v1/", "/v0/")}/${id}`);
    expect(answer.status).toBe(404);
  });
  book.rule("9.3", "the only model is audio-1.0", async () => {
    expect((await client.mainTask()).model).toBe("audio-1.0");
    expectError(await client.create({ ...SHORT_INPUT, model: "audio-1.1" }), 400, "invalid_request");
  });
  book.unobservable("9.4", "deprecation and change policy are not shown");
}
