/** What is left in the ledger when one request is asked for under two API keys of the same account. */
import { expect, it } from "vitest";
import { closeBenchesAfterEach, openBench } from "../bench.ts";
import { rowsOf, taskOf } from "./outside.ts";

closeBenchesAfterEach();

const KEYS = ["sk-test-0123456789abcdef", "sk-test-fedcba9876543210"] as const;
const CALL = { prompt: "Asked for under two keys", wait_seconds: 5 };

it("a claim that was never sent is forgotten once the work is done under another key", async () => {
  const bench = await openBench({ service: { apiKeys: KEYS } });
  const second = await bench.another({ AUDIO_API_KEY: KEYS[1] });
  bench.misbehave((_exchange, response, service) => {
    service.refuse(response, 429, "rate_limit");
    return true;
  });
  const waiting = await second.call("generate_audio", { ...CALL, wait_seconds: 2 });
  expect(taskOf(waiting).status).toBe("waiting");
  await second.end();
  bench.misbehave(undefined);
  const done = taskOf(await bench.server.call("generate_audio", CALL));
  expect(done.status).toBe("succeeded");

  const third = await bench.another({ AUDIO_API_KEY: KEYS[1] });
  const repeated = taskOf(await third.call("generate_audio", CALL));
  expect(repeated.task_id).toBe(done.task_id);
  expect((await rowsOf(third)).map(({ status, task_id }) => [status, task_id])).toEqual([
    ["succeeded", done.task_id],
  ]);
  expect(bench.service.tasks.size).toBe(1);
});
