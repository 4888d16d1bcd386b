/** Builds random scenarios of narrations, runs them, and judges the promises. */
import { readFileSync } from "node:fs";
import fc from "fast-check";
import type { Narrations } from "../../../src/narration/narrations.ts";
import type { Requests } from "../../../src/requests/requests.ts";
import { type Bench, callFor, NO_CHANGES } from "./bench.ts";
import { RoundJudge } from "./judge-round.ts";
import { type BookedTask, listSounds, ScriptedService } from "./scripted-service.ts";
import { SimulatedProcess, type Trouble } from "./simulated-process.ts";
import { Violation } from "./violation.ts";

const LIMITS = [150, 310, 470, 620, 620, 5000, 5000, 5000];
const PAUSES_MS = [0, 0, 30, 100, 700, 700, 2500, 6000];
const TROUBLES = ["kill", "suspend", "away", "late"] as const;
const KINDS = [
  ...["narrate", "narrate", "narrate", "stop", "cancel", "resume", "generate", "generate"],
  ...["trouble", "trouble", "restart", "retake"],
] as const;

interface Step {
  readonly kind: (typeof KINDS)[number] | "damage";
  readonly pauseMs: number;
  readonly a: number;
  readonly b: number;
  readonly c: number;
}

export interface Scenario {
  /** Whether rows may be damaged. Such a ledger cannot know all that was spent. */
  readonly isDamaging: boolean;
  /** Whether the third process has another API key of the account. */
  readonly hasSecondKey: boolean;
  readonly script: readonly number[];
  readonly steps: readonly Step[];
}

const number = fc.nat(59);
const anyScenario: fc.Arbitrary<Scenario> = fc.record({
  isDamaging: fc.constantFrom(false, false, false, true),
  hasSecondKey: fc.constantFrom(false, false, true),
  script: fc.array(fc.nat(99), { maxLength: 40, size: "max" }),
  steps: fc.array(
    fc.record({
      kind: fc.constantFrom(...KINDS, "damage" as const),
      pauseMs: fc.constantFrom(...PAUSES_MS),
      ...{ a: number, b: number, c: number },
    }),
    { minLength: 2, maxLength: 10, size: "max" },
  ),
});
/** Without a bias to small numbers, because these only choose what happens. */
export const scenario = fc.noBias(anyScenario);

const pick = <T>(from: readonly T[], at: number): T => {
  const picked = from[at % from.length];
  if (picked === undefined) throw new Error("there is nothing to pick from");
  return picked;
};

/** A process with what its tools use. */
interface Actor {
  readonly process: SimulatedProcess;
  readonly requests: Requests;
  readonly narrations: Narrations;
  hadTrouble: boolean;
}

interface OpenCall {
  readonly cancel: AbortController;
  isOpen: boolean;
}

class Run {
  readonly #bench: Bench;
  readonly #scenario: Scenario;
  readonly #service: ScriptedService;
  readonly #judge: RoundJudge;
  readonly #actors: Actor[] = [];
  readonly #processes: SimulatedProcess[] = [];
  readonly #calls: OpenCall[] = [];
  readonly log: string[] = [];
  #processCount = 0;

  constructor(bench: Bench, scenario: Scenario) {
    this.#bench = bench;
    this.#scenario = scenario;
    this.#service = new ScriptedService(bench.code, bench.clock, scenario.script);
    this.#judge = new RoundJudge({
      service: this.#service,
      keyOf: ({ body, take, n }) => bench.code.deriveIdempotencyKey(body, take, n),
      before: bench.reader.read(),
    });
    bench.onCommit = () => this.#judge.afterCommit(bench.reader.read());
  }

  async run(): Promise<void> {
    for (const at of [0, 1, 2]) await this.#startProcess(at);
    for (const step of this.#scenario.steps) {
      await this.#bench.clock.advance(step.pauseMs);
      await this.#do(step);
      this.#throwViolation();
    }
    await this.#bench.clock.advance(3000);
    await this.#end();
    this.#throwViolation();
  }

  /** Ends all processes, so that nothing of a scenario reaches the next one. */
  close(): void {
    for (const process of this.#processes) process.kill();
    this.#bench.onCommit = () => undefined;
  }

  #throwViolation(): void {
    if (this.#judge.violation !== null) throw this.#judge.violation;
  }

  async #startProcess(at: number): Promise<Actor> {
    const { code, clock, databases, outputDir, busy } = this.#bench;
    this.#processCount += 1;
    const process = await SimulatedProcess.start(
      `process${this.#processCount}`,
      at === 2 && this.#scenario.hasSecondKey ? "key2" : "key1",
      {
        ...{ code, clock, service: this.#service, outputDir, busy },
        database: pick(databases, at),
        onSubmit: (body, key) => this.#judge.onSubmit(body, key),
      },
    );
    this.#processes.push(process);
    const { requests, driver } = code.createRequests(process.deps);
    const narrations = new code.NarrationOperations({
      ...process.deps,
      ...{ driver, captionFiles: "vtt", containsSecret: () => false },
    });
    const actor = { process, requests, narrations, hadTrouble: false };
    this.#actors[at] = actor;
    return actor;
  }

  async #do({ kind, a, b, c }: Step): Promise<void> {
    const actor = pick(this.#actors, a);
    const { id } = actor.process;
    const narration = pick(this.#bench.narrations, b);
    const note = (what: string): void => {
      this.log.push(`${this.#bench.clock.steadyMs() % 1_000_000} ${id} ${what}`);
    };
    switch (kind) {
      case "narrate":
      case "retake": {
        const maxCredits = pick(LIMITS, c);
        const quote = `${b % 2 === 0 ? pick(["One", "Two", "Three", "Four"], c) : pick(["Five", "Three", "Six"], c)} begins here`;
        const retakes = kind === "retake" ? [{ quote, take: 2 }] : [];
        note(`narrates ${b % 2} for ${maxCredits} ${retakes.map((each) => each.quote).join()}`);
        this.#call(
          actor,
          (call) => {
            const source = { kind: "narration", narrationId: narration } as const;
            return actor.narrations.narrate(source, { ...NO_CHANGES, maxCredits, retakes }, call);
          },
          c % 3 === 0 ? 0 : 60_000,
        );
        return;
      }
      case "stop":
      case "resume": {
        note(`${kind}s ${b % 2}`);
        const source = { kind: "narration", narrationId: narration, mayResume: true } as const;
        const changes = { ...NO_CHANGES, shouldStop: kind === "stop" };
        this.#call(actor, (call) => actor.narrations.narrate(source, changes, call), 60_000);
        return;
      }
      case "cancel": {
        const open = this.#calls.filter(({ isOpen }) => isOpen);
        if (open.length === 0) return;
        note(`cancels a call`);
        pick(open, b).cancel.abort("the user has cancelled");
        return;
      }
      case "generate":
        this.#generate(actor, pick(this.#bench.prompts, b), c, note);
        return;
      case "trouble": {
        const trouble: Trouble = { kind: pick(TROUBLES, b), afterUses: c, ms: 4000 };
        note(`will have ${trouble.kind} after ${c} uses`);
        actor.process.arm(trouble);
        actor.hadTrouble = true;
        return;
      }
      case "restart":
        note("is killed; another one is started");
        actor.process.kill();
        await this.#startProcess(a % this.#actors.length);
        return;
      case "damage":
        if (this.#scenario.isDamaging) this.#damage(b, c, note);
    }
  }

  #call(
    actor: Actor,
    begin: (call: ReturnType<typeof callFor>) => Promise<unknown>,
    waitMs: number,
    onEnd: (wasCancelled: boolean) => void = () => undefined,
  ): void {
    const open = { cancel: new AbortController(), isOpen: true };
    this.#calls.push(open);
    const end = (): void => {
      open.isOpen = false;
      onEnd(open.cancel.signal.aborted && !actor.hadTrouble);
    };
    begin(callFor(waitMs, open.cancel.signal)).then(end, end);
  }

  #generate(actor: Actor, text: string, c: number, note: (what: string) => void): void {
    const prompt = c % 5 === 0 ? text.replace("begins here", "“begins here”") : text;
    const take = c % 7 === 0 ? 2 : 1;
    note(`generates ${prompt.slice(0, 20)} take ${take}`);
    const direct = { prompt, take, isCancelled: false };
    this.#judge.direct.push(direct);
    this.#call(
      actor,
      (call) => actor.requests.generate(this.#requestOf(prompt, take), call),
      60_000,
      (wasCancelled) => {
        direct.isCancelled = wasCancelled;
      },
    );
  }

  #requestOf = (prompt: string, take: number) => ({
    ...{ input: { prompt, output_format: "pcm" as const }, callPronunciations: [], pronunciations: [] },
    ...{ take, fileName: null, mayReplace: false },
  });

  #damage(b: number, c: number, note: (what: string) => void): void {
    const attempts = this.#bench.reader.read().attempts;
    if (attempts.length === 0) return;
    const { request } = pick(attempts, b);
    this.#judge.isDamaged = true;
    note(`finds the request ${request} damaged (${c % 3})`);
    const { reader } = this.#bench;
    if (c % 3 === 0) reader.change("DELETE FROM agm_request WHERE id = ?", request);
    else if (c % 3 === 1) reader.change("DELETE FROM agm_attempt WHERE request = ?", request);
    else reader.change("UPDATE agm_attempt SET status = 'bogus' WHERE request = ?", request);
  }

  // ---- the end ----

  /** Everything calms down: what was paid must be saved and joined, and what is wanted must be finished. */
  async #end(): Promise<void> {
    const { clock, narrations } = this.#bench;
    this.#service.calmDown();
    for (const process of this.#processes) process.heal();
    this.log.push(`${clock.steadyMs() % 1_000_000} everything calms down`);
    const last = await this.#startProcess(0);
    for (const id of narrations) {
      await this.#ask(last, id, { shouldStop: true });
      await clock.advance(8000);
      let view = await this.#ask(last, id, {});
      // Another process may still drive it, and the call does not wait for a narration that nobody wants.
      for (
        let look = 0;
        look < 5 && view.status !== "planned" && view.files.length === 0 && view.parts.saved > 0;
        look += 1
      ) {
        await clock.advance(2000);
        view = await this.#ask(last, id, {});
      }
      this.#throwViolation();
      if (view.status === "planned" || this.#judge.isDamaged) continue;
      this.#judgeFile(id, view.files[0]?.audio.path, false);
      this.#judgeBill(id, view.credits.charged);
    }
    for (const direct of this.#judge.direct) {
      direct.isCancelled = false;
      await clock
        .until(last.requests.generate(this.#requestOf(direct.prompt, direct.take), callFor(300_000)))
        .catch(() => undefined);
    }
    for (const id of narrations) {
      let view = await this.#ask(last, id, { maxCredits: 20_000 });
      // The first answer has told a sentence that needs consent, or a cost that the damaged ledger had forgotten.
      const hasForgotten = view.status === "stopped" && this.#judge.isDamaged;
      if (view.status === "planned" || hasForgotten) view = await this.#ask(last, id, { maxCredits: 20_000 });
      this.#throwViolation();
      if (view.status !== "finished")
        throw new Violation(
          "liveness",
          `it is ${view.status}: ${JSON.stringify([view.parts, view.problems])}`,
        );
      this.#judgeFile(id, view.files[0]?.audio.path, true);
      if (!this.#judge.isDamaged) this.#judgeBill(id, view.credits.charged);
    }
    this.#judge.judgeBooks();
  }

  async #ask({ narrations }: Actor, narrationId: string, changes: Partial<typeof NO_CHANGES>) {
    const source = { kind: "narration", narrationId, mayResume: false } as const;
    this.log.push(`asks ${narrationId.slice(0, 8)} ${JSON.stringify(changes)}`);
    const call = narrations.narrate(source, { ...NO_CHANGES, ...changes }, callFor(600_000));
    return await this.#bench.clock.until(call);
  }

  /** Judges that a file has the audio of its parts, in order. */
  #judgeFile(narration: string, path: string | undefined, isComplete: boolean): void {
    const { parts, attempts } = this.#bench.reader.read();
    const ofNarration = parts.filter((part) => part.narration === narration);
    const expected = ofNarration.flatMap(({ fingerprint, position }) => {
      const ofPart = attempts.filter((attempt) => attempt.fingerprint === fingerprint);
      const known = new Set(ofPart.map(({ task_id }) => task_id));
      const task = this.#service.tasks.find(({ id, end }) => end === "succeeded" && known.has(id));
      if (task === undefined && isComplete) throw new Violation("saved", `part ${position} has no task`);
      return task === undefined ? [] : [task.sound];
    });
    const sounds = path === undefined ? [] : listSounds(readFileSync(path));
    // A whole file stays until another take of a part is there.
    const isEarlier = !isComplete && sounds.length === ofNarration.length;
    const compared = isEarlier ? sounds.filter((sound) => expected.includes(sound)) : sounds;
    if (JSON.stringify(compared) !== JSON.stringify(expected))
      throw new Violation("saved", `the file has the tasks ${sounds.join()} instead of ${expected.join()}`);
  }

  /** Judges that a bill is what the service has charged for the narration, and for nobody else. */
  #judgeBill(narration: string, charged: number): void {
    const known = new Set(this.#bench.reader.read().attempts.map(({ task_id }) => task_id));
    const ofKnown = this.#service.tasks.filter(({ id }) => known.has(id));
    const sum = (counted: readonly BookedTask[]): number =>
      counted.reduce((all, task) => all + task.charge, 0);
    const least = sum(ofKnown.filter((task) => this.#judge.paysFor(narration, task) === "alone"));
    const most = sum(ofKnown.filter((task) => this.#judge.paysFor(narration, task) !== "not"));
    if (charged < least || charged > most)
      throw new Violation("bill", `${charged} credits instead of ${least} to ${most}`);
  }
}

/** Runs a scenario. @throws Violation with what has happened */
export async function runScenario(bench: Bench, one: Scenario): Promise<void> {
  await bench.reset();
  const run = new Run(bench, one);
  try {
    await run.run();
  } catch (error) {
    if (error instanceof Error) error.message += `\n${run.log.join("\n")}\n`;
    throw error;
  } finally {
    run.close();
  }
}
