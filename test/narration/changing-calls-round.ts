/**
 * One round of random calls for one narration: with new limits and takes, stops and cancellations. Two processes with
 * two API keys get the calls. The round checks that everything that an answer promised happens.
 */
import { readdir, readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { FAST } from "../support/bin-under-test.ts";
import { FakeService } from "../support/fake-service.ts";
import { TaskClient } from "../support/task-client.ts";
import { createTestFolders, type TestFolders } from "../support/test-folders.ts";
import { buildText, type NarrationOutput, narrationOutput, PART_BYTES } from "./narrator.ts";

type Action =
  /** A call with a limit, possibly with another take of one part. */
  | {
      readonly kind: "allow";
      readonly credits: number;
      readonly retake: readonly [part: number, take: number] | null;
    }
  | { readonly kind: "stop" | "look" | "task" | "cancel-task" | "kill" | "suspend" | "other-key" };

interface Step {
  readonly action: Action;
  readonly server: 0 | 1;
  /** The wait that the call requests. */
  readonly waitSeconds: number;
  /**
   * The time from the start of the call until its process is killed or the call is cancelled; `null` if the call is
   * answered.
   */
  readonly endsAfterMs: number | null;
  readonly isKilled: boolean;
  readonly pauseMs: number;
}

export interface RoundPlan {
  readonly round: number;
  readonly parts: number;
  readonly processingMs: number;
  readonly steps: readonly Step[];
}

const API_KEYS = ["sk-test-0123456789abcdef", "sk-test-fedcba9876543210"] as const;
const ENOUGH_CREDITS = 100_000;
const CHARGE_CREDITS = 10;
const RESERVED_CREDITS = 150;
const PAUSE_BYTES = 0.6 * 24_000 * 2;
const ENDS_WITHIN_MS = 15_000;
/** A lease lasts 0.3 s at this time scale. */
const PAST_THE_LEASE_MS = 400;

function drawAction(random: () => number, parts: number): Action {
  const drawn = random();
  if (drawn < 0.5) {
    const credits = random() < 0.3 ? ENOUGH_CREDITS : 150 + Math.floor(random() * parts * 60);
    const isRetake = random() < 0.3;
    return {
      kind: "allow",
      credits,
      retake: isRetake ? [Math.floor(random() * parts), 2 + Math.floor(random() * 2)] : null,
    };
  }
  const kinds = [
    "stop",
    "stop",
    "look",
    "look",
    "task",
    "cancel-task",
    "kill",
    "suspend",
    "other-key",
  ] as const;
  return { kind: kinds[Math.floor(random() * kinds.length)] ?? "look" };
}

/** Chooses the calls of all rounds at random before the first round runs, so that they depend on the seed alone. */
export function roundPlans(rounds: number, random: () => number): RoundPlan[] {
  return Array.from({ length: rounds }, (_, index) => {
    const parts = 3 + Math.floor(random() * 4);
    const steps = Array.from({ length: 4 + Math.floor(random() * 6) }, (): Step => {
      const isCutShort = random() < 0.2;
      return {
        action: drawAction(random, parts),
        server: random() < 0.5 ? 0 : 1,
        waitSeconds: random() < 0.6 ? 0 : 1 + Math.floor(random() * 20),
        endsAfterMs: isCutShort ? Math.floor(random() * 60) : null,
        isKilled: random() < 0.5,
        pauseMs: Math.floor(random() * 150),
      };
    });
    return { round: index + 1, parts, processingMs: 20 + Math.floor(random() * 200), steps };
  });
}

class ChangingCallsRound {
  readonly faults: string[] = [];
  readonly #plan: RoundPlan;
  readonly #service: FakeService;
  readonly #testFolders: TestFolders;
  readonly #store: Record<string, string>;
  readonly #keys: [number, number] = [0, 0];
  readonly #servers: TaskClient[] = [];
  readonly #text: string;
  readonly #takes: Map<number, number> = new Map();
  /** Maps each handle to the index of the key that opened it, because other keys do not know the handle. */
  readonly #handles = new Map<string, number>();
  /**
   * The most credits that all submissions together may cost: the limit of the last answered call, or the credits that
   * were charged or reserved at that time if these are more.
   */
  #maxCredits = 0;
  /** The limits of unanswered calls, which may or may not apply. */
  #unconfirmedCredits = 0;
  #isPromised = false;
  #kills = 0;
  #narrationId: string | null = null;

  constructor(
    plan: RoundPlan,
    service: FakeService,
    testFolders: TestFolders,
    store: Record<string, string>,
  ) {
    this.#plan = plan;
    this.#service = service;
    this.#testFolders = testFolders;
    this.#store = store;
    this.#text = buildText(...Array.from({ length: plan.parts }, (_, index) => `Part ${index}`));
    service.intercept = (exchange) => {
      if (exchange.kind !== "create" || service.byKey.has(exchange.key ?? "")) return false;
      const credits = this.#committedCredits() + RESERVED_CREDITS;
      const most = Math.max(this.#maxCredits, this.#unconfirmedCredits);
      if (credits > most)
        this.faults.push(`a submission comes to ${credits} credits where ${most} are allowed`);
      return false;
    };
  }

  /** The credits that the service has charged or reserved for its tasks at this moment. */
  #committedCredits(): number {
    const { runningTaskCount, tasks } = this.#service;
    return runningTaskCount * RESERVED_CREDITS + (tasks.size - runningTaskCount) * CHARGE_CREDITS;
  }

  #server(at: number): TaskClient {
    const key = API_KEYS[this.#keys[at === 0 ? 0 : 1]] ?? API_KEYS[0];
    const { baseUrl } = this.#service;
    this.#servers[at] ??= new TaskClient(
      this.#testFolders.env({ baseUrl, apiKey: key }, { ...FAST, ...this.#store }),
    );
    return this.#servers[at];
  }

  /** Calls `narrate` like a client that does not support MCP tasks. */
  async #narrate(at: number, args: Record<string, unknown>): Promise<NarrationOutput> {
    const { result } = await this.#server(at).request("tools/call", { name: "narrate", arguments: args }, {});
    if (result?.["isError"] === true) throw new Error(JSON.stringify(result["content"]));
    return narrationOutput.parse(result?.["structuredContent"]);
  }

  async #kill(at: number): Promise<void> {
    this.#kills += 1;
    await this.#servers[at]?.kill();
    delete this.#servers[at];
    this.#isPromised = false;
  }

  async #changeKey(at: 0 | 1): Promise<void> {
    await this.#servers[at]?.close();
    delete this.#servers[at];
    this.#keys[at] = 1 - this.#keys[at];
    this.#isPromised = false;
  }

  #arguments({ action, waitSeconds }: Step): Record<string, unknown> {
    const id = this.#narrationId;
    const target = id === null ? { text: this.#text, output_format: "pcm" } : { narration_id: id };
    const shared = { ...target, wait_seconds: waitSeconds };
    if (action.kind === "stop") return { ...shared, stop: true };
    if (action.kind !== "allow") return shared;
    const { credits, retake } = action;
    const retakes = retake === null ? {} : { retakes: [{ quote: quoteOf(retake[0]), take: retake[1] }] };
    return { ...shared, max_credits: credits, ...retakes };
  }

  async step(step: Step): Promise<void> {
    const { action, server: at, pauseMs } = step;
    if (action.kind === "kill") await this.#kill(at);
    else if (action.kind === "suspend") await suspended(this.#server(at).pid);
    else if (action.kind === "other-key") await this.#changeKey(at);
    else if (action.kind === "task") await this.#askAsTask(at);
    else if (action.kind === "cancel-task") await this.#cancelTask(at);
    else await this.#call(step);
    await sleep(pauseMs);
  }

  async #askAsTask(at: 0 | 1): Promise<void> {
    this.#unconfirmedCredits = ENOUGH_CREDITS;
    this.#isPromised = false;
    const args = { text: this.#text, output_format: "pcm", max_credits: ENOUGH_CREDITS };
    const answer = await this.#server(at).call("narrate", args);
    if (typeof answer["taskId"] === "string") this.#handles.set(answer["taskId"], this.#keys[at] ?? 0);
    this.#maxCredits = ENOUGH_CREDITS;
  }

  async #cancelTask(at: 0 | 1): Promise<void> {
    const [handle] = [...this.#handles].find(([, key]) => key === this.#keys[at]) ?? [];
    if (handle === undefined) return;
    this.#isPromised = false;
    await this.#server(at).cancel(handle);
  }

  async #call(step: Step): Promise<void> {
    const { action, server: at, endsAfterMs, isKilled } = step;
    const server = this.#server(at);
    if (action.kind === "allow") {
      this.#unconfirmedCredits = Math.max(this.#unconfirmedCredits, action.credits);
      if (action.retake !== null) this.#takes.set(...action.retake);
    }
    // A call that only looks at the narration does not change its limit, so an earlier promise still applies.
    if (action.kind !== "look") this.#isPromised = false;
    const answered = this.#narrate(at, this.#arguments(step));
    const id = server.lastId;
    if (endsAfterMs === null) {
      this.#note(action, await answered);
      return;
    }
    this.#isPromised = false;
    answered.catch(() => undefined);
    await sleep(endsAfterMs);
    if (isKilled) await this.#kill(at);
    else server.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
  }

  /** Stores the limit that applies after an answer, and whether the answer promised that the narration continues. */
  #note(action: Action, lastNarration: NarrationOutput): void {
    const { narration_id, credits, status } = lastNarration;
    this.#narrationId = narration_id;
    const onTheirWay = credits.charged + credits.reserved;
    if (action.kind === "stop") {
      if (status === "running") this.faults.push("a narration runs after it was stopped");
      this.#maxCredits = onTheirWay;
      this.#unconfirmedCredits = 0;
    }
    if (action.kind === "allow" && status !== "planned") {
      this.#maxCredits = Math.max(action.credits, onTheirWay);
      this.#unconfirmedCredits = 0;
    }
    this.#isPromised = status === "running";
  }

  /**
   * Waits until a promised narration has ended, then requests the whole narration and checks the result and every MCP
   * task.
   */
  async finish(): Promise<void> {
    if (this.#isPromised) await this.#keepsItsPromise();
    this.#unconfirmedCredits = ENOUGH_CREDITS;
    const retakes = [...this.#takes].map(([part, take]) => ({ quote: quoteOf(part), take }));
    const args = { text: this.#text, output_format: "pcm", max_credits: ENOUGH_CREDITS, retakes };
    let lastNarration: NarrationOutput | null = null;
    for (let tries = 0; tries < 6 && lastNarration?.status !== "finished"; tries += 1) {
      lastNarration = await this.#narrate(0, { ...args, wait_seconds: 20 });
    }
    await this.#compare(lastNarration);
    for (const [handle, key] of this.#handles) {
      if (this.#keys[1] !== key) await this.#changeKey(1);
      // The call of a killed process is run again by the process that is asked for it, so its end comes a poll later.
      await this.#server(1)
        .waitForEnd(handle)
        .catch((error: unknown) => this.faults.push(`the task ${handle} works for ever: ${String(error)}`));
    }
  }

  /** Expects that a running narration ends without further calls. The list of tasks only shows its status. */
  async #keepsItsPromise(): Promise<void> {
    const giveUpAtMs = performance.now() + ENDS_WITHIN_MS;
    for (;;) {
      const call = { name: "list_tasks", arguments: {} };
      const rows = JSON.stringify((await this.#server(1).request("tools/call", call, {})).result);
      if (!rows.includes('"status":"running"')) return;
      if (performance.now() > giveUpAtMs) {
        this.faults.push(`what was promised is never done: ${rows}`);
        return;
      }
      await sleep(200);
    }
  }

  async #compare(lastNarration: NarrationOutput | null): Promise<void> {
    const expectSame = (label: string, actual: unknown, expected: unknown): void => {
      if (actual !== expected) this.faults.push(`${label}: ${String(actual)} instead of ${String(expected)}`);
    };
    expectSame(
      "status",
      `${lastNarration?.status} ${JSON.stringify(lastNarration?.problems)}`,
      "finished []",
    );
    const tasks = [...this.#service.tasks.values()];
    // Some tasks are needed by no part any more, and no process received their results. Their charges are unknown, so
    // their reservations are shown.
    const { charged = 0, reserved = 0 } = lastNarration?.credits ?? {};
    const paid = tasks.length * CHARGE_CREDITS;
    const isCounted = charged <= paid && paid <= charged + reserved;
    if (!isCounted) this.faults.push(`${charged} charged and ${reserved} held where ${paid} were paid`);
    const sounds = Array.from({ length: this.#plan.parts }, (_, part) => {
      const all = tasks.filter(({ body }) => body.includes(quoteOf(part)));
      return all.map(({ audio }) => audio);
    });
    const bytes = await readFile(lastNarration?.files[0]?.path ?? "none").catch(() => Buffer.alloc(0));
    const { parts } = this.#plan;
    expectSame("bytes", bytes.length, parts * PART_BYTES + (parts - 1) * PAUSE_BYTES);
    for (const [part, all] of sounds.entries()) {
      const from = part * (PART_BYTES + PAUSE_BYTES);
      const partBytes = bytes.subarray(from, from + PART_BYTES);
      const isOne = all.some((sound) => sound.equals(partBytes));
      expectSame(`sound of part ${part}`, isOne, true);
    }
    const remainingFiles = (await readdir(this.#testFolders.outputDir)).filter((name) =>
      name.includes("(incomplete)"),
    );
    // A process leaves a file behind if it is killed between saving the file and recording it.
    if (remainingFiles.length > this.#kills) this.faults.push(`left behind: ${remainingFiles.join(", ")}`);
  }

  async close(): Promise<void> {
    for (const server of this.#servers) await server?.close();
  }
}

const quoteOf = (part: number): string => `Part ${part} begins`;

async function suspended(pid: number): Promise<void> {
  process.kill(pid, "SIGSTOP");
  await sleep(PAST_THE_LEASE_MS);
  process.kill(pid, "SIGCONT");
}

/**
 * Runs one plan and checks each submission, each answer and the result.
 *
 * @param storeUrl the URL of a PostgreSQL database without data of another round; `null` for a SQLite file
 * @throws Error that names every fault, such as an exceeded limit, a broken promise or missing audio
 */
export async function runChangingCallsRound(plan: RoundPlan, storeUrl: string | null = null): Promise<void> {
  const service = await FakeService.start({
    processingMs: plan.processingMs,
    audioBytes: PART_BYTES,
    audioSeconds: 4,
    hasDistinctSounds: true,
    apiKeys: API_KEYS,
    limitScale: 0.01,
  });
  const testFolders = await createTestFolders();
  const store: Record<string, string> = storeUrl === null ? {} : { AUDIO_STORE_URL: storeUrl };
  const round = new ChangingCallsRound(plan, service, testFolders, store);
  try {
    for (const step of plan.steps) await round.step(step);
    await round.finish();
    if (service.rateLimitedCount > 0) round.faults.push(`${service.rateLimitedCount} answers were 429`);
    if (round.faults.length > 0) throw new Error(round.faults.join("; "));
  } finally {
    await round.close();
    await service.stop();
    await testFolders.remove();
  }
}
