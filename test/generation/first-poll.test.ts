/** When a task is asked for: never before the interval is over, and no task so late as the one before it (docs/design.md, Watching). */
import { expect, it, onTestFinished } from "vitest";
import type { ObservedTask } from "../../src/api/service.ts";
import { createGeneration } from "../../src/generation/generation.ts";
import { makeDeps, silentService } from "./bundle.ts";

const INTERVAL_MS = 5000;
const TOOK_MS = 21_000;

const atWork: ObservedTask = {
  taskId: "task",
  status: "processing",
  billing: { reserved_credits: 150, charged_credits: null, refunded_credits: null },
  audioSeconds: null,
  output: null,
  error: null,
  oddities: [],
};
const AUDIO = Buffer.concat([Buffer.from([0xff, 0xfb, 0x90, 0x00]), Buffer.alloc(20_000)]);

it("tasks of 21 s are polled every 5 s, and seen soon after their end once a few have been watched, by whatever process", async () => {
  const polledAtMs = new Map<string, number[]>();
  const acceptedAtMs = new Map<string, number>();
  const { clock, deps } = await makeDeps((time) => ({
    ...silentService(),
    create: async () => {
      const taskId = `task-${acceptedAtMs.size + 1}`;
      acceptedAtMs.set(taskId, time.steadyMs());
      polledAtMs.set(taskId, []);
      return { ...atWork, taskId, status: "queued" };
    },
    query: async (taskId) => {
      polledAtMs.get(taskId)?.push(time.steadyMs());
      const sinceMs = time.steadyMs() - (acceptedAtMs.get(taskId) ?? 0);
      const end = {
        status: "succeeded",
        billing: { reserved_credits: 150, charged_credits: 10, refunded_credits: 140 },
        audioSeconds: 4,
        output: { format: "mp3", sampleRateHz: 24_000, durationSeconds: 4 },
      } as const;
      return { ...atWork, taskId, ...(sinceMs >= TOOK_MS ? end : {}) };
    },
    content: async () => ({
      start: 0,
      totalBytes: AUDIO.length,
      body: (async function* () {
        yield AUDIO;
      })(),
      discard: () => undefined,
    }),
  }));
  const processes = [createGeneration(deps), createGeneration(deps)] as const;
  onTestFinished(async () => {
    for (const process of processes) await process.close();
  });
  const call = { signal: new AbortController().signal, windowMs: 600_000, onProgress: () => {} };

  const lateMs: number[] = [];
  for (let number = 1; number <= 11; number += 1) {
    // The last is the first of another process, which has seen nothing itself.
    const generation = number <= 10 ? processes[0] : processes[1];
    const request = { input: { prompt: `Text ${number}` }, take: 1, fileName: null };
    let isSaved = false;
    const saved = generation.generate(request, call).then(({ audio }) => {
      isSaved = audio !== null;
    });
    // Files and the ledger take real time; the hand of the clock waits for them.
    for (let turn = 0; turn < 5000 && !isSaved; turn += 1) await clock.advance(20);
    await saved;
    const taskId = `task-${number}`;
    const polls = (polledAtMs.get(taskId) ?? []).map((atMs) => atMs - (acceptedAtMs.get(taskId) ?? 0));
    expect(polls[0]).toBeGreaterThanOrEqual(INTERVAL_MS);
    polls.slice(1).forEach((atMs, index) => {
      // The grid is kept: a poll that the ledger held up for a moment does not put the next one off.
      expect(atMs - (polls[index] ?? 0)).toBeGreaterThan(INTERVAL_MS - 250);
    });
    lateMs.push((polls.at(-1) ?? 0) - TOOK_MS);
  }
  expect(lateMs[0]).toBeGreaterThan(3000);
  for (const ms of lateMs.slice(-3)) expect(ms).toBeLessThan(1000);
}, 60_000);
