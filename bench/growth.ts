/** Measures what a long life costs: everything that a ledger of a million records could slow down, beside one of a thousand, on either store. */
import type { Ledger } from "../src/ledger/ledger.ts";
import { whyNoRedis } from "../test/support/redis-server.ts";
import { OURS } from "./contenders.ts";
import { type FilledLedger, KNOWN_CALL, openFilledLedger, type StoreName } from "./filled-ledger.ts";
import { atMost, printSamples, ratio, type Sample, sideBySide, type Verdict } from "./measure.ts";
import { admitAndTakeBack } from "./one-admission.ts";
import { RawClient } from "./raw-client.ts";

const SIZES = [1000, 1_000_000] as const;
const ROWS = 20;
/** What takes a millisecond or so is measured more often. */
const SHORT = 5;
const MOST_GROWN = 1.3;

async function timed(run: () => Promise<unknown>): Promise<number> {
  const beganAtMs = performance.now();
  await run();
  return performance.now() - beganAtMs;
}

/** From the spawn to an answer: of the handshake, or of a first look into the ledger as well. */
async function fromSpawn({ env }: FilledLedger, until: "initialize" | "list_tasks"): Promise<number> {
  const client = new RawClient(OURS, env);
  try {
    await client.initialize();
    if (until === "list_tasks") await client.call("list_tasks", { limit: ROWS });
    return performance.now() - client.startedAt;
  } finally {
    await client.stop();
  }
}

/** A figure of a ledger that answers with less than it was asked for would say nothing. */
async function assertAnswers(client: RawClient, records: number): Promise<void> {
  const { result } = await client.call("list_tasks", { limit: ROWS });
  const shown = JSON.stringify(result).match(/"task_id":/g)?.length ?? 0;
  const { result: replay } = await client.call("generate_audio", KNOWN_CALL);
  if (shown < ROWS || !JSON.stringify(replay).includes('"replayed":true')) {
    throw new Error(`the ledger of ${records} records shows ${shown} rows: ${JSON.stringify(replay)}`);
  }
}

async function benchStore(name: StoreName, rounds: number) {
  const filled: FilledLedger[] = [];
  const clients: RawClient[] = [];
  const ledgers: Ledger[] = [];
  const samples: Sample[] = [];
  const verdicts: Verdict[] = [];
  const label = (figure: string, records: number): string =>
    `${figure}, ${records.toLocaleString("en")} records`;
  const compare = async (figure: string, times: number, measure: (at: number) => Promise<number>) => {
    const contenders = filled.map(({ records }, at) => ({
      name: label(figure, records),
      measure: () => measure(at),
    }));
    const measured = await sideBySide(contenders, "ms", times);
    samples.push(...measured);
    const [small, full] = SIZES.map((records) => label(figure, records));
    const what = `${figure} on ${name} with 1,000,000 records, over 1,000`;
    verdicts.push(atMost("growth", what, ratio(measured, full ?? "", small ?? ""), MOST_GROWN));
  };
  const ofFilled = (at: number): FilledLedger => filled[at] ?? raise();
  const client = (at: number): RawClient => clients[at] ?? raise();
  const ledger = (at: number): Ledger => ledgers[at] ?? raise();
  try {
    for (const records of SIZES) filled.push(await openFilledLedger(name, records));
    await compare("start", rounds, (at) => fromSpawn(ofFilled(at), "initialize"));
    await compare("start and first look", rounds, (at) => fromSpawn(ofFilled(at), "list_tasks"));
    for (const { env, records } of filled) {
      const started = new RawClient(OURS, env);
      clients.push(started);
      await started.initialize();
      await assertAnswers(started, records);
    }
    await compare("replay", rounds * SHORT, (at) =>
      timed(() => client(at).call("generate_audio", KNOWN_CALL)),
    );
    await compare(`list_tasks of ${ROWS} rows`, rounds * SHORT, (at) =>
      timed(() => client(at).call("list_tasks", { limit: ROWS })),
    );
    for (const each of clients.splice(0)) await each.stop();
    for (const each of filled) ledgers.push(await each.open());
    let number = 0;
    await compare("admission", rounds * SHORT * 4, (at) => {
      number += 1;
      return admitAndTakeBack(ledger(at), String(number));
    });
  } finally {
    for (const each of clients) await each.stop();
    for (const each of ledgers) await each.store.close();
    for (const each of filled) await each.remove();
  }
  printSamples(`Growth on ${name}`, samples);
  return { samples: samples.map((each) => ({ ...each, name: `${name}: ${each.name}` })), verdicts };
}

function raise(): never {
  throw new Error("there are only two ledgers");
}

/** Everything at a million records over the same at a thousand, in turn: the ratios are the verdicts. */
export async function benchGrowth(rounds: number): Promise<{ samples: Sample[]; verdicts: Verdict[] }> {
  const stores: StoreName[] = whyNoRedis() === undefined ? ["SQLite", "Redis"] : ["SQLite"];
  const results: Array<Awaited<ReturnType<typeof benchStore>>> = [];
  for (const name of stores) results.push(await benchStore(name, rounds));
  return {
    samples: results.flatMap(({ samples }) => samples),
    verdicts: results.flatMap(({ verdicts }) => verdicts),
  };
}
