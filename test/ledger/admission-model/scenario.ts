/** Builds random scenarios, runs them, and compares each step with the facts. */
import fc from "fast-check";
import { DAY_MS, Violation } from "./facts.ts";
import * as progress from "./job-progress.ts";
import type { Choice, Operation, Prepare } from "./operations.ts";
import * as request from "./operations.ts";
import { compareRows, readStoredRows } from "./stored-rows.ts";
import * as around from "./surroundings.ts";
import { type Bench, NARRATIONS, World, type WorldOptions } from "./world.ts";

interface Kind {
  readonly weight: number;
  readonly prepare: Prepare;
  /** Whether something else may happen at the same time. */
  readonly mayBePaired: boolean;
}

const KINDS = {
  begin: { weight: 14, prepare: request.begin, mayBePaired: true },
  acquire: { weight: 14, prepare: request.acquire, mayBePaired: true },
  ask: { weight: 22, prepare: request.ask, mayBePaired: true },
  answer: { weight: 16, prepare: request.answer, mayBePaired: true },
  proceed: { weight: 9, prepare: progress.proceed, mayBePaired: true },
  takeBack: { weight: 3, prepare: request.takeBack, mayBePaired: true },
  stopDriving: { weight: 3, prepare: progress.stopDriving, mayBePaired: true },
  giveUp: { weight: 2, prepare: progress.giveUp, mayBePaired: true },
  endWish: { weight: 6, prepare: progress.endWish, mayBePaired: true },
  takeOver: { weight: 5, prepare: request.takeOver, mayBePaired: false },
  sendOften: { weight: 6, prepare: request.sendOften, mayBePaired: false },
  beginParts: { weight: 8, prepare: request.beginParts, mayBePaired: false },
  adopt: { weight: 3, prepare: request.adopt, mayBePaired: true },
  narrate: { weight: 8, prepare: around.narrate, mayBePaired: true },
  changeNarration: { weight: 5, prepare: around.changeNarration, mayBePaired: true },
  renew: { weight: 6, prepare: around.renew, mayBePaired: true },
  passTime: { weight: 10, prepare: around.passTime, mayBePaired: false },
  setWallClock: { weight: 1, prepare: around.setWallClock, mayBePaired: false },
  restartMachine: { weight: 1, prepare: around.restartMachine, mayBePaired: false },
  die: { weight: 2, prepare: around.die, mayBePaired: false },
  tidy: { weight: 1, prepare: around.tidy, mayBePaired: false },
} as const satisfies Record<string, Kind>;
type KindName = keyof typeof KINDS;
const isKindName = (name: string): name is KindName => name in KINDS;
const KIND_NAMES = Object.keys(KINDS).filter(isKindName);

interface Step extends Choice {
  readonly kind: KindName;
  /** What happens at the same time; `null` for nothing. */
  readonly beside: (Choice & { readonly kind: KindName | "same" }) | null;
}

const PAIRED = KIND_NAMES.filter((name) => KINDS[name].mayBePaired);
const number = fc.nat(59);
const kinds = (allowed: readonly KindName[]) =>
  fc.oneof(...allowed.map((kind) => ({ weight: KINDS[kind].weight, arbitrary: fc.constant(kind) })));
const step: fc.Arbitrary<Step> = fc.record({
  ...{ kind: kinds(KIND_NAMES), a: number, b: number, c: number },
  beside: fc.option(
    fc.record({
      kind: fc.oneof(fc.constant("same" as const), kinds(PAIRED)),
      a: number,
      b: number,
      c: number,
    }),
    { freq: 3 },
  ),
});

export interface Scenario {
  readonly options: WorldOptions;
  readonly steps: readonly Step[];
}

const anyScenario: fc.Arbitrary<Scenario> = fc.record({
  options: fc.record({
    budget: fc.constantFrom(null, null, 300, 450, 900),
    isOneAccount: fc.boolean(),
    mood: fc.constantFrom("calm", "hurried", "silent"),
  }),
  steps: fc.array(step, { minLength: 1, maxLength: 120, size: "max" }),
});

/** Without a bias to small numbers, because these only choose what happens. */
export const scenario = fc.noBias(anyScenario);

/** Runs a scenario. @throws Violation with the names of the steps */
export async function runScenario(bench: Bench, { options, steps }: Scenario): Promise<void> {
  const world = new World(bench, options);
  await world.empty();
  const names: string[] = [JSON.stringify(options)];
  try {
    for (const one of steps) {
      const operations = prepareStep(world, one);
      if (operations.length === 0) continue;
      names.push(operations.map(({ name }) => name).join("  ||  "));
      await runAtOnce(world, operations);
    }
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    error.message += `\n${names.join("\n")}\n`;
    throw error;
  }
}

function prepareStep(world: World, { kind, beside, ...choice }: Step): Operation[] {
  const { prepare, mayBePaired } = KINDS[kind];
  const first = prepare(world, choice);
  if (first === null) return [];
  if (!mayBePaired || beside === null) return [first];
  const second = KINDS[beside.kind === "same" ? kind : beside.kind].prepare(world, beside);
  // A process does one thing after the other for a request.
  const isOneJob = second?.job !== undefined && second.job !== null && second.job === first.job;
  const isOneName = second?.name === first.name;
  return second === null || isOneJob || isOneName ? [first] : [first, second];
}

/** Runs operations at the same time. What they have done must be what they do in some order. */
async function runAtOnce(world: World, operations: readonly Operation[]): Promise<void> {
  const judges = await Promise.all(operations.map(({ run }) => run()));
  const { bench, facts } = world;
  const sinceMs = bench.clock.wallMs() - DAY_MS;
  const stored = await readStoredRows(bench.code, world.anyLedger, NARRATIONS, sinceMs);
  const orders = judges.length === 1 ? [judges] : [judges, [...judges].reverse()];
  let violation: unknown;
  for (const order of orders) {
    world.facts = orders.length === 1 ? facts : structuredClone(facts);
    try {
      for (const judge of order) judge(world.facts);
      compareRows(world.facts, stored);
      return;
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      violation ??= error;
    }
  }
  throw violation;
}
