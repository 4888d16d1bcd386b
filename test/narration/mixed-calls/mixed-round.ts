/**
 * One round of random calls for two texts that share parts: narrations with new limits, takes, edits and names, direct
 * calls for their parts, retyped texts, stops, cancels and kills. Two processes with two API keys of one account get the
 * calls. Each answer must keep its promises, and at the end every statement about money and files must be true.
 */
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { startTroubledService, type Trouble } from "../../faults/chaos/troubled-service.ts";
import { FAST } from "../../support/bin-under-test.ts";
import { compareStatements, listOutput } from "../../support/compare-statements.ts";
import type { FakeService } from "../../support/fake-service.ts";
import type { LedgerStorage, LedgerStores } from "../../support/ledger-storage.ts";
import { LedgerView } from "../../support/ledger-view.ts";
import { Random } from "../../support/random.ts";
import { TASKS, TaskClient } from "../../support/task-client.ts";
import { createTestFolders, type TestFolders } from "../../support/test-folders.ts";
import { narrationOutput, PART_BYTES } from "../narrator.ts";
import { Accounts, type Story } from "./accounts.ts";
import {
  drawKilledCall,
  drawStep,
  ENOUGH_CREDITS,
  editOf,
  partText,
  quoteOf,
  retype,
  type Step,
} from "./draw-steps.ts";

const API_KEYS = ["sk-test-0123456789abcdef", "sk-test-fedcba9876543210"] as const;
const ENDS_WITHIN_MS = 40_000;
/** A lease lasts 0.3 s at this time scale. */
const PAST_THE_LEASE_MS = 400;
const RUNNING_WITHIN_MS = 1500;
const MAX_REPEATS = 12;
/** On a busy machine, little happens between two looks. */
const MIN_LOOKS = 40;
const MIN_COMPARISONS = 4;

const answer = z.looseObject({
  taskId: z.string().optional(),
  isError: z.boolean().optional(),
  content: z.array(z.looseObject({ text: z.string().optional() })).optional(),
  structuredContent: z.record(z.string(), z.unknown()).optional(),
});
type Answer = z.infer<typeof answer>;

const textOf = ({ content = [] }: Answer): string => content.map(({ text }) => text ?? "").join("\n");

class MixedRound {
  readonly figures: Record<string, number> = {};
  readonly problems: string[] = [];
  /** What was called and answered, a line each, for a person who looks into a problem. */
  readonly log: string[] = [];
  readonly #random: Random;
  readonly #service: FakeService;
  readonly #trouble: Trouble;
  readonly #testFolders: TestFolders;
  readonly #storage: LedgerStorage;
  readonly #keys: [number, number] = [0, 0];
  readonly #servers: TaskClient[] = [];
  readonly #beside: Promise<unknown>[] = [];
  readonly #accounts: Accounts;
  readonly #stories: readonly [Story, Story];
  /** Maps each MCP task to the index of the key that opened it, because other keys do not know it. */
  readonly #handles = new Map<string, number>();
  /** Direct calls that a person would repeat until they have their file. */
  readonly #wanted = new Map<string, Record<string, unknown>>();

  constructor(
    random: Random,
    parts: number,
    service: FakeService,
    trouble: Trouble,
    testFolders: TestFolders,
    storage: LedgerStorage,
  ) {
    this.#random = random;
    this.#service = service;
    this.#trouble = trouble;
    this.#testFolders = testFolders;
    this.#storage = storage;
    this.#accounts = new Accounts(service);
    const names = Array.from({ length: parts }, (_, part) => `Part ${part}`);
    const first = this.#accounts.open("first", names);
    // The second text shares its first two parts with the first one.
    this.#stories = [first, this.#accounts.open("second", [...names.slice(-2), "Another part"])];
  }

  #count(what: string): void {
    this.figures[what] = (this.figures[what] ?? 0) + 1;
  }

  #env(key: number): Record<string, string> {
    const { baseUrl } = this.#service;
    const apiKey = API_KEYS[key] ?? API_KEYS[0];
    const log = { AUDIO_LOG_LEVEL: "debug", AUDIO_LOG_FILE: join(this.#testFolders.root, "servers.log") };
    return this.#testFolders.env({ baseUrl, apiKey }, { ...FAST, ...log, ...this.#storage.env });
  }

  #server(at: 0 | 1): TaskClient {
    this.#servers[at] ??= new TaskClient(this.#env(this.#keys[at]));
    return this.#servers[at];
  }

  /** Calls a tool. Returns `null` if its process ends before it answers. */
  async #ask(at: 0 | 1, name: string, args: Record<string, unknown>, isTask = false): Promise<Answer | null> {
    const server = this.#server(at);
    const key = this.#keys[at];
    const startedAtMs = performance.now();
    const sent = server.request("tools/call", { name, arguments: args }, isTask ? TASKS : {});
    const shown = JSON.stringify({ ...args, text: undefined, prompt: String(args["prompt"]).slice(0, 60) });
    this.log.push(`${at}/${key} ${name} ${shown}`);
    const received = await Promise.race([sent, server.exited.then(() => null)]);
    if (received === null) return null;
    const answered = answer.parse(
      received.result ?? { isError: true, content: [{ text: String(received.error?.message) }] },
    );
    this.log.push(
      `${at}/${key} … ${answered.taskId ?? textOf(answered).slice(0, 600).replaceAll("\n", " | ")}`,
    );
    if (answered.taskId !== undefined) this.#handles.set(answered.taskId, key);
    if (answered.isError === true) this.#count(`error ${textOf(answered).split(":")[0]?.slice(0, 40)}`);
    else this.#accounts.hear(answered.structuredContent ?? {}, startedAtMs);
    return answered;
  }

  /** Begins a call. If the step cuts it short, kills its process or cancels it, and returns `null`. */
  async #askCut(step: Step, name: string, args: Record<string, unknown>): Promise<Answer | null> {
    const { server: at, cut, isTask } = step;
    const server = this.#server(at);
    const answered = this.#ask(at, name, args, isTask);
    const requestId = server.lastId;
    if (cut === null) return await answered;
    await sleep(cut.afterMs);
    this.#count(cut.isKilled ? "killed calls" : "cancelled calls");
    if (cut.isKilled) await this.#kill(at, server);
    else server.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } });
    // A cancelled call is answered or not, as the protocol allows.
    void answered.catch(() => undefined);
    return null;
  }

  async #kill(at: 0 | 1, server: TaskClient | undefined = this.#servers[at]): Promise<void> {
    await server?.kill();
    if (this.#servers[at] === server) delete this.#servers[at];
    this.#forgetPromises();
  }

  #forgetPromises(): void {
    for (const story of this.#accounts.stories) story.isPromised = false;
  }

  async run(steps: readonly Step[]): Promise<void> {
    for (const step of steps) {
      const done = this.#step(step);
      if (step.isBeside) this.#beside.push(done);
      else await done;
      await sleep(step.pauseMs);
    }
  }

  async #step(step: Step): Promise<void> {
    const { kind, server: at } = step;
    this.#count(kind);
    switch (kind) {
      case "kill":
        return await this.#kill(at);
      case "suspend":
        return await suspended(this.#server(at).pid);
      case "disturb":
        return await this.#storage.disturb(this.#random);
      case "other-key":
        return await this.#changeKey(at);
      case "cancel-task":
        return await this.#cancelTask(at);
      case "remove-file":
        return await this.#removeFile();
      case "list":
        await this.#ask(at, "list_tasks", {});
        return;
      case "direct":
        return await this.#callDirectly(step);
      case "edit":
        return await this.#edit(step);
      default:
        return await this.#narrate(step, this.#stories[step.story]);
    }
  }

  async #changeKey(at: 0 | 1): Promise<void> {
    const server = this.#servers[at];
    delete this.#servers[at];
    this.#keys[at] = 1 - this.#keys[at];
    this.#forgetPromises();
    await server?.close();
  }

  async #cancelTask(at: 0 | 1): Promise<void> {
    const [handle] = [...this.#handles].reverse().find(([, key]) => key === this.#keys[at]) ?? [];
    if (handle === undefined) return;
    this.#count("cancelled tasks");
    this.#forgetPromises();
    const server = this.#server(at);
    await Promise.race([server.cancel(handle), server.exited]);
  }

  /** Deletes a file, like a person. It must come back, free of charge. */
  async #removeFile(): Promise<void> {
    const names = (await this.#testFolders.outputNames()).filter((name) => !name.startsWith("."));
    const name = names[this.#random.int(0, Math.max(0, names.length - 1))];
    if (name !== undefined) await rm(join(this.#testFolders.outputDir, name), { force: true });
  }

  /** Waits for a part that is being made, as long as a narration runs. */
  async #waitForRunning(): Promise<ReturnType<Accounts["findRunning"]>> {
    const giveUpAtMs = performance.now() + RUNNING_WITHIN_MS;
    let running = this.#accounts.findRunning();
    while (running === undefined && performance.now() < giveUpAtMs && this.#accounts.hasStarted) {
      await sleep(20);
      running = this.#accounts.findRunning();
    }
    return running;
  }

  /** Calls `generate_audio` for the text of a part. */
  async #callDirectly(step: Step): Promise<void> {
    const running = step.wantsRunning ? await this.#waitForRunning() : undefined;
    const story = running?.story ?? this.#stories[step.story];
    const name = running?.name ?? story.parts[step.part % story.parts.length] ?? "";
    const { take, typing } = step;
    const prompt = retype(partText(name), typing);
    const args = {
      prompt,
      output_format: "pcm",
      ...(take === 1 ? {} : { take }),
      ...(step.name === null ? {} : { file_name: step.name, replace: step.mayReplace }),
      wait_seconds: step.waitSeconds,
    };
    this.#count(`direct on a part that ${this.#accounts.standingOf(story, name, take)}`);
    if (typing !== null) this.#count(`direct, retyped (${typing})`);
    if (step.isTask) this.#count("direct as task");
    if (step.name !== null && step.mayReplace) this.#count("direct with replace");
    this.#accounts.allowDirect(prompt, take);
    const answered = await this.#askCut(step, "generate_audio", args);
    if (answered === null) return;
    if (typing === null) this.#wanted.set(`${name} ${take}`, { prompt, output_format: "pcm", take });
  }

  async #edit(step: Step): Promise<void> {
    const base = this.#stories[step.story];
    if (base.id === null) return;
    const name = base.parts[step.part % base.parts.length] ?? "";
    this.#count("edits of a narration");
    const edited = this.#accounts.open(`${base.label}, ${name} edited`, base.parts, {
      narration_id: base.id,
      edits: [editOf(name)],
    });
    await this.#narrate({ ...step, kind: "allow", isById: false, typing: null }, edited);
  }

  async #narrate(step: Step, story: Story): Promise<void> {
    const { kind, take, credits, typing } = step;
    const isRetyped = typing !== null && story.base === null;
    const name = story.parts[step.part % story.parts.length] ?? "";
    const isSpending = kind === "allow";
    const args = {
      ...this.#nameOf(story, isRetyped ? typing : null, step.isById),
      wait_seconds: step.waitSeconds,
      ...(kind === "stop" ? { stop: true } : {}),
      ...(isSpending ? { max_credits: credits } : {}),
      ...(isSpending && take > 1 ? { retakes: [{ quote: quoteOf(name), take }] } : {}),
      ...(isSpending && step.name !== null ? { file_name: step.name, replace: step.mayReplace } : {}),
    };
    if (isRetyped && !step.isById) this.#count(`narrate, retyped (${typing})`);
    if (isSpending) this.#countLimit(story, step);
    if (kind !== "look" || !step.isById) this.#forgetPromises();
    const answered = await this.#askCut(step, "narrate", args);
    const output = narrationOutput.safeParse(answered?.structuredContent).data;
    if (output === undefined || answered?.isError === true) return;
    const told = this.#accounts.noteAnswer(story, output, kind, isSpending ? credits : 0);
    if (kind === "stop" && told.status === "running")
      this.problems.push("a narration runs after it was stopped");
  }

  #countLimit(story: Story, step: Step): void {
    const { credits, take } = step;
    const before = this.#accounts.allow(story, credits);
    if (before > 0 && credits !== before) this.#count(credits > before ? "raised limits" : "lowered limits");
    if (take > 1) this.#count("retakes");
    if (step.isTask) this.#count("narrate as task");
    if (step.name !== null && step.mayReplace) this.#count("narrate with replace");
  }

  #nameOf(story: Story, typing: Step["typing"], isById: boolean): Record<string, unknown> {
    if (story.id !== null && isById) return { narration_id: story.id };
    if (story.base !== null) return { ...story.base };
    const text = story.parts.map((name) => retype(partText(name), typing)).join("\n\n");
    return { text, output_format: "pcm" };
  }

  /** Lets everything end, and compares what is said with what is true. */
  async finish(): Promise<void> {
    await Promise.all(this.#beside);
    this.#trouble.faults = 0;
    this.#trouble.failures = 0;
    if (this.#accounts.stories.some(({ isPromised }) => isPromised)) await this.#waitForQuiet("promised");
    await this.#endHandles();
    for (const story of this.#accounts.stories) {
      if (story.isKnown && this.#random.chance(0.3))
        await this.#ask(0, "narrate", { ...this.#nameOf(story, null, true), stop: true });
      else await this.#finishStory(story);
    }
    for (const args of this.#wanted.values()) if (this.#random.chance(0.5)) await this.#finishDirect(args);
    await this.#waitForQuiet("at the end");
    await this.#compare();
  }

  /** The process that waits for a task may have been killed; then the call runs again in the process that is asked. */
  async #endHandles(): Promise<void> {
    for (const [handle, key] of this.#handles) {
      if (this.#keys[1] !== key) await this.#changeKey(1);
      const end = await this.#server(1)
        .waitForEnd(handle, 4 * ENDS_WITHIN_MS)
        .catch((error: unknown) =>
          this.problems.push(`the MCP task ${handle} works for ever: ${String(error)}`),
        );
      this.log.push(`end of ${handle}: ${JSON.stringify(end).slice(0, 600)}`);
    }
  }

  async #finishStory(story: Story): Promise<void> {
    const takes = story.parts.map((name) => ({
      quote: quoteOf(name),
      take: this.#random.int(1, 3) === 3 ? 2 : 1,
    }));
    const isExact = this.#random.chance(0.5);
    let last: z.infer<typeof narrationOutput> | undefined;
    for (let repeat = 0; repeat < MAX_REPEATS; repeat += 1) {
      this.#accounts.allow(story, ENOUGH_CREDITS);
      const retakes = isExact ? { retakes: takes } : {};
      const args = { ...this.#nameOf(story, null, story.base !== null && story.id !== null), ...retakes };
      const answered = await this.#ask(0, "narrate", {
        ...args,
        max_credits: ENOUGH_CREDITS,
        wait_seconds: 20,
      });
      last = narrationOutput.safeParse(answered?.structuredContent).data;
      if (last !== undefined) this.#accounts.noteAnswer(story, last, "allow", ENOUGH_CREDITS);
      if (last?.status === "finished") break;
    }
    if (last?.status !== "finished" || last.problems.length > 0)
      this.problems.push(`${story.label} does not finish: ${last?.message}`);
    else
      await this.#accounts.compareFile(
        story,
        last.files[0]?.path,
        isExact ? takes.map(({ take }) => take) : null,
        this.problems,
      );
  }

  async #finishDirect(args: Record<string, unknown>): Promise<void> {
    let last: Answer | null = null;
    for (let repeat = 0; repeat < MAX_REPEATS; repeat += 1) {
      last = await this.#ask(1, "generate_audio", { ...args, wait_seconds: 10 });
      if (last?.structuredContent?.["audio"] !== undefined) return;
    }
    this.problems.push(`a direct call does not come to a file: ${last === null ? "" : textOf(last)}`);
  }

  async #waitForQuiet(when: string): Promise<void> {
    const giveUpAtMs = performance.now() + ENDS_WITHIN_MS;
    for (let looks = 1; ; looks += 1) {
      const rows = await Promise.all(([0, 1] as const).map((at) => this.#list(at)));
      const busy = rows.flat().filter((row) => this.#isBusy(row));
      if (busy.length === 0 && this.#service.runningTaskCount === 0) return;
      if (performance.now() > giveUpAtMs && looks > MIN_LOOKS) {
        this.problems.push(`${when}: never done: ${JSON.stringify(busy)}`);
        return;
      }
      await sleep(100);
    }
  }

  async #list(at: 0 | 1) {
    const answered = await this.#ask(at, "list_tasks", { limit: 100 });
    return listOutput.safeParse(answered?.structuredContent).data?.tasks ?? [];
  }

  #isBusy(row: z.infer<typeof listOutput>["tasks"][number]): boolean {
    const { status, next_step } = row;
    if ("narration_id" in row) return status === "running";
    return (status === "queued" || status === "processing") && !String(next_step).includes("earlier API key");
  }

  async #compare(): Promise<void> {
    const giveUpAtMs = performance.now() + 5000;
    for (let tries = 1; ; tries += 1) {
      const { stateDir } = this.#testFolders;
      const { baseUrl } = this.#service;
      const view = await LedgerView.open({
        stateDir,
        storeUrl: this.#storage.directUrl,
        baseUrl,
        apiKeys: API_KEYS,
      });
      const attempts = await view.attempts();
      const files = await view.files();
      const known = new Set(files.map(({ path }) => path));
      await view.close();
      const found = [
        ...(await compareStatements({
          service: this.#service,
          attempts,
          files,
          env: this.#env(this.#keys[1]),
          ask: async (name, args) => {
            const answered = await this.#ask(1, name, args);
            if (answered?.structuredContent === undefined)
              throw new Error(`${name}: ${answered === null ? "" : textOf(answered)}`);
            return answered.structuredContent;
          },
        }).catch((error: unknown) => [String(error)])),
        ...this.#accounts.compare(attempts),
        ...(await this.#findUnknownFiles(known)),
      ];
      if (found.length === 0) return;
      // A look at a stopped narration lets its parts be joined, so that the next look finds a file.
      if (performance.now() > giveUpAtMs && tries > MIN_COMPARISONS) {
        this.problems.push(...found);
        return;
      }
      await sleep(300);
    }
  }

  /** A killed process leaves files that it was about to note, and temporary ones. */
  async #findUnknownFiles(known: ReadonlySet<string>): Promise<string[]> {
    const names = (await this.#testFolders.outputNames()).filter((name) => !name.startsWith("."));
    const unknown = names.filter((name) => !known.has(join(this.#testFolders.outputDir, name)));
    const kills = (this.figures["kill"] ?? 0) + (this.figures["killed calls"] ?? 0);
    return unknown.length > kills ? [`nobody knows the files ${unknown.join(", ")}`] : [];
  }

  async close(): Promise<void> {
    for (const server of this.#servers) await server?.close();
  }
}

async function suspended(pid: number): Promise<void> {
  process.kill(pid, "SIGSTOP");
  await sleep(PAST_THE_LEASE_MS);
  process.kill(pid, "SIGCONT");
}

async function runRound(
  seed: number,
  stores: LedgerStores,
  draw: (random: Random, parts: number) => readonly Step[],
): Promise<Record<string, number>> {
  const random = new Random(seed);
  const parts = random.int(3, 6);
  const steps = draw(random, parts);
  const trouble = {
    faults: random.pick([0, 0, 0.2]),
    failures: random.pick([0, 0, 0.2]),
    count: 0,
    answeredNotFound: new Set<string>(),
  };
  const service = await startTroubledService(random, trouble, {
    apiKeys: API_KEYS,
    processingMs: random.pick([50, 300, 1000, 2000]),
    audioBytes: PART_BYTES,
    hasDistinctSounds: true,
    limitScale: 0.01,
  });
  const testFolders = await createTestFolders();
  const storage = await stores.open(testFolders.stateDir);
  const round = new MixedRound(random, parts, service, trouble, testFolders, storage);
  try {
    await round.run(steps);
    await round.finish();
    if (round.problems.length === 0) return { ...round.figures, tasks: service.tasks.size };
    await writeFile(join(testFolders.root, "calls.log"), round.log.join("\n"));
    throw new Error([...round.problems, `everything is left in ${testFolders.root}`].join("\n    "));
  } finally {
    await round.close();
    await service.stop();
    if (round.problems.length === 0) await testFolders.remove();
  }
}

/** @throws Error that names every broken promise and every false statement */
export const runMixedRound = (seed: number, stores: LedgerStores): Promise<Record<string, number>> =>
  runRound(seed, stores, (random, parts) =>
    Array.from({ length: random.int(8, 20) }, () => drawStep(random, parts)),
  );

/** Kills the processes of two clients that narrate one text. Then checks the same as {@link runMixedRound}. */
export const runKillRound = (seed: number, stores: LedgerStores): Promise<Record<string, number>> =>
  runRound(seed, stores, (random) =>
    Array.from({ length: random.int(2, 6) }, () => drawKilledCall(random)).flat(),
  );
