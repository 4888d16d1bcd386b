/** Measures what a long life costs: start, replay and list with a large ledger, and a server that is left running. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { OURS } from "./contenders.ts";
import { atMost, median, printSamples, type Sample, sample, type Verdict } from "./measure.ts";
import { openPlace, type Place } from "./place.ts";
import { RawClient } from "./raw-client.ts";

/** Listings of ten rows each, for the smallest ledger has no more. */
const SIZES = [10, 1000, 100_000] as const;
const MINUTES = 1000;
/** Calls back to back until V8's young generation has reached its full size, which real minutes never fill. */
const WARM_UP = 8000;

/** Fills the ledger with copies of its one real record: other ids, other times, nothing else different. */
function fill(place: Place, count: number): void {
  const database = new DatabaseSync(join(place.root, "state", "ledger.sqlite"));
  const have = Number(database.prepare("SELECT count(*) AS n FROM records").get()?.["n"]);
  database.exec("BEGIN IMMEDIATE");
  database
    .prepare(`
      WITH RECURSIVE numbers(n) AS (SELECT ? UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
      INSERT INTO records (key, record_id, account_id, work_id, origin, task_id, status, is_open, created_at_ms,
          revision, value)
        SELECT replace(key, record_id, 'copy-' || n), 'copy-' || n, account_id, 'work-' || n, origin, 'task-' || n,
          status, is_open, created_at_ms - n, revision,
          replace(replace(value, record_id, 'copy-' || n), task_id, 'task-' || n)
        FROM numbers, (SELECT * FROM records WHERE record_id NOT LIKE 'copy-%' LIMIT 1)`)
    .run(have, count - 1);
  database.exec("COMMIT");
  database.close();
}

async function timed(rounds: number, run: () => Promise<unknown>): Promise<number[]> {
  const values: number[] = [];
  for (let round = -1; round < rounds; round += 1) {
    const beganAt = performance.now();
    await run();
    if (round >= 0) values.push(performance.now() - beganAt);
  }
  return values;
}

async function startTime(place: Place): Promise<number> {
  const client = new RawClient(OURS, place.env);
  await client.initialize();
  const tookMs = performance.now() - client.startedAt;
  await client.stop();
  return tookMs;
}

async function benchRecords(
  place: Place,
  rounds: number,
): Promise<{ samples: Sample[]; verdicts: Verdict[] }> {
  const samples: Sample[] = [];
  const call = { prompt: "One of a hundred thousand" };
  const first = new RawClient(OURS, place.env);
  await first.initialize();
  await first.call("generate_audio", call);
  await first.stop();
  for (const size of SIZES) {
    fill(place, size);
    const client = new RawClient(OURS, place.env);
    await client.initialize();
    const label = `${size.toLocaleString("en")} records`;
    samples.push(sample(`start, ${label}`, "ms", await timed(rounds, () => startTime(place))));
    samples.push(
      sample(`replay, ${label}`, "ms", await timed(rounds * 3, () => client.call("generate_audio", call))),
    );
    samples.push(
      sample(
        `list_tasks, ${label}`,
        "ms",
        await timed(rounds * 3, () => client.call("list_tasks", { limit: 10 })),
      ),
    );
    await client.stop();
  }
  printSamples("Growth: records", samples);
  const grown = (name: string): number => {
    const of = (size: string): number =>
      samples.find((candidate) => candidate.name === `${name}, ${size} records`)?.median ?? Number.NaN;
    return of("100,000") / of("10");
  };
  return {
    samples,
    verdicts: [
      atMost("growth", "start with 100,000 records, over 10", grown("start"), 1.1),
      atMost("growth", "replay with 100,000 records, over 10", grown("replay"), 2),
      atMost("growth", "list_tasks with 100,000 records, over 10", grown("list_tasks"), 2),
    ],
  };
}

const countFiles = (root: string): number => readdirSync(root, { recursive: true }).length;

/** A minute of an idle client is a ping and a look at the ledger; a thousand of them follow each other. */
async function benchMinutes(place: Place): Promise<{ samples: Sample[]; verdicts: Verdict[] }> {
  const client = new RawClient(OURS, place.env);
  await client.initialize();
  const minute = async (): Promise<void> => {
    await client.request("ping", {});
    await client.call("list_tasks", { limit: 5 });
  };
  for (let warm = 0; warm < WARM_UP; warm += 1) await minute();
  const before = {
    files: countFiles(place.root),
    handles: await client.openHandles(),
    memory: [] as number[],
  };
  for (let round = 0; round < 5; round += 1) before.memory.push(client.residentMiB());
  const memory: number[] = [];
  for (let count = 0; count < MINUTES; count += 1) {
    await minute();
    if (count >= MINUTES - 5) memory.push(client.residentMiB());
  }
  const handles = await client.openHandles();
  await client.stop();
  const grownMiB = Math.max(0, median(memory) - median(before.memory));
  console.log(
    `\nGrowth: ${MINUTES} idle minutes\n  memory ${grownMiB.toFixed(1)} MiB more, handles ${before.handles} to ${handles}`,
  );
  return {
    samples: [sample("memory grown in 1,000 idle minutes", "MiB", [grownMiB])],
    verdicts: [
      atMost("growth", "memory grown in 1,000 idle minutes", grownMiB, 5, " MiB"),
      atMost("growth", "handles grown in 1,000 idle minutes", handles - before.handles, 0),
      atMost("growth", "files grown in 1,000 idle minutes", countFiles(place.root) - before.files, 0),
    ],
  };
}

export async function benchGrowth(rounds: number): Promise<{ samples: Sample[]; verdicts: Verdict[] }> {
  const place = await openPlace(20_000);
  try {
    const records = await benchRecords(place, rounds);
    const minutes = await benchMinutes(place);
    return {
      samples: [...records.samples, ...minutes.samples],
      verdicts: [...records.verdicts, ...minutes.verdicts],
    };
  } finally {
    await place.remove();
  }
}
