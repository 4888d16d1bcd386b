/** Measures how much slower a ledger of a million records is than one of a thousand, on each engine. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { systemClock } from "../src/clock.ts";
import { releaseAdmission, requestAdmission } from "../src/ledger/admission.ts";
import { openLedger } from "../src/ledger/open-ledger.ts";
import { acquireRequest } from "../src/ledger/request-rows.ts";
import { createLog } from "../src/log.ts";
import { createProcessId } from "../src/process-id.ts";
import { beginRequest } from "../src/requests/begin.ts";
import { buildNewRequest, prepareRequest } from "../src/requests/prepare-request.ts";
import { PostgresServer, whyNoPostgres } from "../test/support/postgres-server.ts";
import { compare, type Row, report, timed } from "./measure.ts";
import { OURS } from "./programs.ts";
import { RawClient, type ServerEnv, withServer } from "./raw-client.ts";
import { openSetup, startService } from "./setup.ts";

const SMALL = 1000;
const LARGE = 1_000_000;
const ROUNDS = 21;
/** The number of rounds for measurements that take about a millisecond. */
const SHORT_ROUNDS = 105;
const LISTED = 20;
/** Number of records that real calls make, with real files. The measured list shows only such records. */
const REAL_RECORDS = 25;
const KNOWN_CALL = { prompt: "Number 7 of the newest" };
const MAX_RATIO = 1.3;

type FilledLedger = Awaited<ReturnType<typeof fillLedger>>;

interface Engine {
  readonly name: string;
  /** Creates an empty database. Returns the settings that name it. */
  open(): Promise<{ readonly env: Readonly<Record<string, string>>; remove(): Promise<void> }>;
}

const ENGINES: readonly Engine[] = [
  // The default: a file in the state folder.
  { name: "SQLite", open: async () => ({ env: {}, remove: async () => undefined }) },
  ...(whyNoPostgres() === undefined ? [{ name: "PostgreSQL", open: openPostgres }] : []),
];

/** Starts a separate PostgreSQL server for a ledger. */
async function openPostgres() {
  const server = await PostgresServer.start();
  return { env: { AUDIO_STORE_URL: server.url }, remove: () => server.remove() };
}

/** Functions that run at the end, the last one first, whether the bench succeeds or fails. */
const cleanups: Array<() => Promise<void>> = [];

/** Creates a ledger of `records` records. Returns functions that measure it, in milliseconds. */
async function fillLedger(engine: Engine, records: number) {
  const setup = await openSetup(await startService(20_000));
  cleanups.push(setup.remove);
  const database = await engine.open();
  cleanups.push(database.remove);
  // The budget is too large to refuse a request. Each admission still has to check it.
  const env = { ...setup.env, ...database.env, AUDIO_CREDIT_BUDGET: String(1e12) };
  await withServer(OURS, env, async (client) => {
    for (let number = 0; number < REAL_RECORDS; number += 1) {
      await client.call("generate_audio", { prompt: `Number ${number} of the newest` });
    }
  });
  // Fill the ledger in a separate process. This process must stay small, because it starts the measured servers.
  execFileSync(
    process.execPath,
    [join(import.meta.dirname, "filled-ledger.ts"), String(records - REAL_RECORDS)],
    { env: { ...process.env, ...env } },
  );

  const client = new RawClient(OURS, env);
  cleanups.push(() => client.stop());
  await client.initialize();
  const list = () => client.call("list_tasks", { limit: LISTED });
  const replay = () => client.call("generate_audio", KNOWN_CALL);
  const listed = JSON.stringify(await list());
  const shown = listed.match(/"task_id":/g)?.length ?? 0;
  if (shown < LISTED || !JSON.stringify(await replay()).includes('"replayed":true')) {
    throw new Error(`the ledger of ${records} records shows ${shown} rows: ${listed.slice(0, 500)}`);
  }
  return {
    timeOfStart: (until: "initialize" | "list_tasks") =>
      withServer(OURS, env, async (started) => {
        if (until === "list_tasks") await started.call("list_tasks", { limit: LISTED });
        return performance.now() - started.startedAtMs;
      }),
    timeOfReplay: () => timed(replay),
    timeOfList: () => timed(list),
    timeOfAdmission: await openAdmission(env),
  };
}

/** Opens the ledger in this process. Returns a function that measures an admission, and then releases it. */
async function openAdmission(env: ServerEnv): Promise<() => Promise<number>> {
  const ledger = await openLedger({
    config: {
      stateDir: env["AUDIO_STATE_DIR"] ?? null,
      storeUrl: env["AUDIO_STORE_URL"] ?? null,
      creditBudget: 1e12,
    },
    serviceAccess: { baseUrl: env["AUDIO_BASE_URL"] ?? "", apiKey: env["AUDIO_API_KEY"] ?? "" },
    processId: createProcessId(),
    log: createLog("silent", (text) => text),
    clock: systemClock,
  });
  cleanups.push(() => ledger.database.close());
  const prepared = prepareRequest(ledger.identity.baseUrl, {
    ...{ input: { prompt: "Admitted" }, take: 1, fileName: null, mayReplace: false },
    ...{ callPronunciations: [], pronunciations: [] },
  });
  let sends = 0;
  return async (): Promise<number> => {
    // Wished for each time, because another process deletes a wish that nobody has renewed for minutes.
    const { row } = await beginRequest(ledger, buildNewRequest(ledger, prepared, true), {
      wish: { id: "bench", kind: "self" },
      mayBeginAttempt: true,
    });
    await acquireRequest(ledger, row.id);
    sends += 1;
    const send = `send ${sends}`;
    const beganAtMs = performance.now();
    const admission = await requestAdmission(ledger, row, send, false);
    const tookMs = performance.now() - beganAtMs;
    if (admission.kind !== "admitted") throw new Error(`the submission was not admitted: ${admission.kind}`);
    // Taken back, so that no submission has to wait: waiting is not a cost of the ledger.
    await releaseAdmission(ledger, row.id, send);
    return tookMs;
  };
}

async function benchEngine(engine: Engine): Promise<Row[]> {
  const small = await fillLedger(engine, SMALL);
  const large = await fillLedger(engine, LARGE);
  const rows: Row[] = [];
  const add = async (figure: string, rounds: number, measure: (ledger: FilledLedger) => Promise<number>) => {
    const times = await compare(
      rounds,
      () => measure(large),
      () => measure(small),
    );
    const name = `${figure}, ${LARGE.toLocaleString("en")} records, ${engine.name}`;
    const comparedWith = `${SMALL.toLocaleString("en")} records`;
    rows.push({ name, unit: "ms", comparedWith, ...times, goal: { of: "ratio", atMost: MAX_RATIO } });
  };
  await add("start", ROUNDS, (ledger) => ledger.timeOfStart("initialize"));
  await add("start and first look", ROUNDS, (ledger) => ledger.timeOfStart("list_tasks"));
  await add("replay", SHORT_ROUNDS, (ledger) => ledger.timeOfReplay());
  await add(`list of ${LISTED}`, SHORT_ROUNDS, (ledger) => ledger.timeOfList());
  await add("admission", SHORT_ROUNDS, (ledger) => ledger.timeOfAdmission());
  return rows;
}

try {
  const rows: Row[] = [];
  for (const engine of ENGINES) rows.push(...(await benchEngine(engine)));
  report(rows);
} finally {
  for (const cleanUp of cleanups.reverse()) await cleanUp();
}
