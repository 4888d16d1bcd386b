/** Preloaded into the server: time passes only when the parent says so, timer by timer, each as soon as nothing else is under way. */
import { setTimeout as realPause } from "node:timers/promises";
import { z } from "zod";

interface Waiting {
  dueMs: number;
  readonly everyMs: number | null;
  readonly run: () => void;
}

const order = z.object({ advanceMs: z.number() });

const DAY_BEGINS_MS = Date.UTC(2026, 10, 23, 9);
let passedMs = 0;
let fired = 0;
const waiting = new Map<object, Waiting>();

/** What Node's own timers can be asked; keeping the process alive is left to its standard input. */
class Timer {
  readonly #delayMs: number;

  constructor(delayMs: number, everyMs: number | null, run: () => void) {
    this.#delayMs = delayMs;
    waiting.set(this, { dueMs: passedMs + delayMs, everyMs, run });
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return waiting.has(this);
  }

  refresh(): this {
    const own = waiting.get(this);
    if (own !== undefined) own.dueMs = passedMs + this.#delayMs;
    return this;
  }

  close(): void {
    waiting.delete(this);
  }
}

type Callback = (...args: unknown[]) => void;
const atLeastOne = (ms: unknown): number => Math.max(1, Number(ms ?? 0) || 0);

const clear = (timer: unknown): void => {
  if (timer instanceof Timer) timer.close();
};
const replacements: Record<string, unknown> = {
  setTimeout: (run: Callback, ms?: number, ...args: unknown[]) =>
    new Timer(atLeastOne(ms), null, () => run(...args)),
  setInterval: (run: Callback, ms?: number, ...args: unknown[]) =>
    new Timer(atLeastOne(ms), atLeastOne(ms), () => run(...args)),
  clearTimeout: clear,
  clearInterval: clear,
};
for (const [name, replacement] of Object.entries(replacements)) Reflect.set(globalThis, name, replacement);
Date.now = () => DAY_BEGINS_MS + Math.floor(passedMs);
process.hrtime.bigint = () => BigInt(Math.round(passedMs * 1000)) * 1000n;
performance.now = () => passedMs;

/** What keeps an idle server alive. Idle connections to the service and the store keep no process alive. */
const AT_REST = new Set(["PipeWrap", "Pipe", "TTYWrap", "Immediate"]);
const CALM_TURNS = 4;

/** Resolves when files, sockets and commands under way have come to their end. */
async function calm(): Promise<void> {
  for (let turns = 0; turns < CALM_TURNS; ) {
    await new Promise((resolve) => setImmediate(resolve));
    const isBusy = process.getActiveResourcesInfo().some((resource) => !AT_REST.has(resource));
    turns = isBusy ? 0 : turns + 1;
    if (isBusy) await realPause(1, undefined, { ref: false });
  }
}

async function advance(ms: number): Promise<void> {
  const endMs = passedMs + ms;
  for (;;) {
    await calm();
    const [next] = [...waiting].sort(([, one], [, other]) => one.dueMs - other.dueMs);
    if (next === undefined || next[1].dueMs > endMs) break;
    const [timer, { dueMs, everyMs, run }] = next;
    passedMs = Math.max(passedMs, dueMs);
    const own = waiting.get(timer);
    if (everyMs === null) waiting.delete(timer);
    else if (own !== undefined) own.dueMs += everyMs;
    fired += 1;
    run();
  }
  passedMs = endMs;
}

/** Milliseconds of real time in which a line on the standard input certainly arrives. */
const ARRIVES_MS = 20;

process.on("message", async (message: unknown) => {
  const { advanceMs } = order.parse(message);
  await realPause(ARRIVES_MS);
  await advance(advanceMs);
  for (let times = 0; times < 3; times += 1) globalThis.gc?.();
  const { heapUsed, rss } = process.memoryUsage();
  process.send?.({ fired, timers: waiting.size, heapUsedBytes: heapUsed, residentBytes: rss });
});
process.channel?.unref();
