/** Faults that the model must find. Each is planted by changing the text of a copy of the sources. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Rule } from "./facts.ts";

const ROOT = resolve(import.meta.dirname, "../../..");
/** In the root, so that the copies find the packages. Git, and so the checks, leave it out. */
const COPIES = join(ROOT, ".planted-faults");

export interface PlantedFault<Found extends string = Rule> {
  readonly name: string;
  /** A file below `src`. */
  readonly file: string;
  /** Texts that are in the file exactly once, with what takes their place. */
  readonly changes: ReadonlyArray<readonly [text: string, replacement: string]>;
  /** The violation that is found first must be of one of these rules. */
  readonly rules: readonly Found[];
}

/**
 * Plants a fault in a copy of the sources.
 *
 * @returns the folder of the copy, which the caller removes
 */
export function plantFault({ name, file, changes }: PlantedFault<string>): string {
  let source = readFileSync(join(ROOT, "src", file), "utf8");
  for (const [text, replacement] of changes) {
    const count = source.split(text).length - 1;
    if (count !== 1) throw new Error(`${name}: the text is ${count} times in ${file}: ${text}`);
    source = source.replace(text, () => replacement);
  }
  mkdirSync(COPIES, { recursive: true });
  const folder = mkdtempSync(join(COPIES, "fault-"));
  cpSync(join(ROOT, "src"), folder, { recursive: true });
  writeFileSync(join(folder, file), source);
  return folder;
}

const ADMISSION = "ledger/admission.ts";
const BILLS = "ledger/bills.ts";
const ROWS = "ledger/request-rows.ts";
const WISHES = "ledger/wishes.ts";

const fault = (
  name: string,
  file: string,
  rules: readonly Rule[],
  ...changes: ReadonlyArray<readonly [string, string]>
): PlantedFault => ({ name, file, changes, rules });

/** Lets an admission decide on what `read` has found before its transaction, while other processes may write. */
const decidedEarly = (
  name: string,
  read: string,
  rules: readonly Rule[],
  ...changes: ReadonlyArray<readonly [string, string]>
): PlantedFault =>
  fault(
    name,
    ADMISSION,
    rules,
    [
      "  runTransaction(ledger, async (open): Promise<Admission> => {",
      `  ledger.database.run(async (db) => { early = ${read}; }).then(() => runTransaction(ledger, async (open) => {
    const old = early;`,
    ],
    [
      'return { kind: "admitted", row: await writeAsDriver(gate, row, patch) };\n  });',
      'return { kind: "admitted", row: await writeAsDriver(gate, row, patch) };\n  }));\nlet early;',
    ],
    ...changes,
  );

const OLD_READS: readonly PlantedFault[] = [
  decidedEarly(
    "the row is read before the lock",
    "await readRequest(db, id)",
    ["rows", "wish", "lease", "repeat"],
    [
      'const row = await readRequest(tx, id);\n    if (row === undefined) return { kind: "unwanted" };',
      'const row = old;\n    if (row === undefined) return { kind: "unwanted" };',
    ],
  ),
  decidedEarly(
    "the limit is read before the lock",
    'await db.selectFrom("agm_narration").selectAll().execute()',
    ["limit", "wish", "payer", "liveness"],
    ['    if (narration?.status !== "running") continue;', ""],
    ["(narration.max_credits ?? 0)", "(early.find((each) => each.id === payer).max_credits ?? 0)"],
  ),
  decidedEarly(
    "the bill is read outside of the transaction",
    'new Map(await Promise.all(["narration1", "narration2"].map(async (each) => [each, await readBill(db, each)])))',
    ["limit", "payer", "liveness"],
    ["await readBill(tx, payer)", "early.get(payer)"],
  ),
  decidedEarly(
    "the wishes are read before one is withdrawn",
    "await listPayers({ tx: db, ledger, nowSteadyMs: ledger.clock.steadyMs() }, id)",
    ["wish", "payer", "liveness", "limit"],
    ["await listPayers(gate, id)", "old"],
  ),
  decidedEarly(
    "the budget is summed outside of the transaction",
    "await sumSpentCredits(db, ledger, ledger.clock.wallMs() - BUDGET_WINDOW_MS, id)",
    ["budget", "sums"],
    ["await sumSpentCredits(tx, ledger, sinceMs, id)", "old"],
  ),
  decidedEarly(
    "the sends of the minute are read before the lock",
    'JSON.parse((await db.selectFrom("agm_gate").selectAll().where("id", "=", ledger.identity.apiKeyId).executeTakeFirst())?.sends ?? "[]")',
    ["rate", "concurrency", "liveness", "cooldown"],
    [
      "const facts = await readLimitFacts(gate,",
      "const facts = await readLimitFacts({ ...gate, sends: old },",
    ],
  ),
  decidedEarly(
    "the open tasks are read before the lock",
    "await readLimitFacts({ tx: db, ledger, nowSteadyMs: ledger.clock.steadyMs() }, { id }, false)",
    ["concurrency", "liveness"],
    [
      "const hold = decideHold(facts, buildLimitTiming(ledger.timeScale), nowSteadyMs);\n    if",
      "const hold = decideHold({ ...facts, slotEndsMs: old.slotEndsMs }, buildLimitTiming(ledger.timeScale), nowSteadyMs);\n    if",
    ],
  ),
  fault(
    "a driver looks for another driver before its transaction",
    ROWS,
    ["lease", "rows"],
    [
      '  runTransaction(ledger, async (open) => {\n    const { tx, nowSteadyMs } = open;\n    await ledger.database.lockRow(tx, "agm_request", id);\n    const row = await readRequest(tx, id);',
      "  ledger.database.run((db) => readRequest(db, id)).then((row) => runTransaction(ledger, async (open) => {\n    const { tx, nowSteadyMs } = open;",
    ],
    [
      "return { row: await readRequest(tx, id), isMine: true, earlierError };\n  });",
      "return { row: await readRequest(tx, id), isMine: true, earlierError };\n  }));",
    ],
  ),
];

export const PLANTED_FAULTS: readonly PlantedFault[] = [
  ...OLD_READS,
  fault(
    "a late answer is written over a task",
    ADMISSION,
    ["rows", "lease", "sums"],
    ["(current.attempt === row.attempt && current.task_id === null)", "current.attempt === row.attempt"],
  ),
  fault(
    "a refusal counts the sends that were known before",
    ADMISSION,
    ["rows"],
    ["withoutSend(current ?? row)", "withoutSend(row)"],
  ),
  fault(
    "who wants a resend pays for it",
    ADMISSION,
    ["payer", "limit", "wish", "liveness"],
    ["isResend ? await readPayer(tx, row, payers) : await", "await"],
  ),
  fault(
    "a send that is taken back keeps its payer",
    ADMISSION,
    ["rows"],
    ['status: "waiting", payer: null, payer_run: 0,', 'status: "waiting",'],
  ),
  fault(
    "what nobody wants is paid for by its caller",
    ADMISSION,
    ["wish", "payer"],
    [
      'if (payers.length === 0 && !(isResend && mayResend)) return { kind: "unwanted" };',
      "if (payers.length === 0) payers.push(null);",
    ],
  ),
  fault(
    "parts let calls pass that nobody drives",
    ADMISSION,
    ["liveness"],
    ["isHeld(open, { owner, lease_until_steady_ms: drivenUntilMs }) &&", ""],
  ),
  fault(
    "the wishes of dead processes stand",
    WISHES,
    ["wish", "payer", "limit", "concurrency", "liveness"],
    ["isHeld(open, { owner: process, lease_until_steady_ms })", "true"],
  ),
  fault(
    "seven leave in a minute",
    ADMISSION,
    ["rate"],
    ["sends.length >= SUBMISSIONS_PER_WINDOW", "sends.length > SUBMISSIONS_PER_WINDOW"],
  ),
  fault(
    "three tasks are open at once",
    ADMISSION,
    ["concurrency"],
    ["taken[taken.length - MAX_CONCURRENT_TASKS]", "taken[taken.length - MAX_CONCURRENT_TASKS - 1]"],
  ),
  fault(
    "a cooldown is not kept",
    ADMISSION,
    ["cooldown"],
    ["if (cooldownUntilMs > nowMs) return", "if (cooldownUntilMs < 0) return"],
  ),
  fault("an answered send does not count", ADMISSION, ["rate"], ["return wasSent ? [", "return false ? ["]),
  fault(
    "a send that did not leave counts",
    ADMISSION,
    ["liveness"],
    ["return wasSent ? [", "return true ? ["],
  ),
  fault(
    "a repeated question is another send",
    ADMISSION,
    ["repeat", "rows"],
    ["if (row.send_id === sendId)", "if (row.send_id === undefined)"],
  ),
  fault(
    "what may have arrived is sent again although nobody wants it",
    ADMISSION,
    ["wish"],
    ["!(isResend && mayResend)", "!isResend"],
  ),
  fault(
    "the budget holds a send that may have arrived",
    ADMISSION,
    ["liveness"],
    ["ledger.creditBudget !== null && !isResend", "ledger.creditBudget !== null"],
  ),
  fault(
    "the budget counts a day from the newest send",
    ADMISSION,
    ["rows", "sums"],
    ["...(isResend ? {} : { spent_at_ms: ledger.clock.wallMs() }),", "spent_at_ms: ledger.clock.wallMs(),"],
  ),
  fault(
    "the payer is not written",
    ADMISSION,
    ["payer"],
    ["      payer,\n      payer_run", "      payer_run"],
  ),
  fault("the run of the payer is not written", ADMISSION, ["payer"], ["payer_run: run,", "payer_run: 0,"]),
  fault(
    "a limit need not cover the reservation",
    ADMISSION,
    ["limit", "payer"],
    ["spent + RESERVED_CREDITS <= (narration", "spent < (narration"],
  ),
  fault(
    "parts do not let calls pass",
    ADMISSION,
    ["concurrency"],
    ["isOfNarration && (await isCallWaiting(gate, row))", "false"],
  ),
  fault(
    "callers of the request itself pay after narrations",
    WISHES,
    ["payer", "limit", "liveness"],
    [
      "if (standing.some((wish) => wish.target === requestId)) return [null];\n  return [...new Set(standing.map((wish) => wish.target))];",
      "return [...new Set(standing.map((wish) => wish.target))].map((each) => (each === requestId ? null : each)).sort((a, b) => (a === null) - (b === null));",
    ],
  ),
  fault(
    "the newest wish pays first",
    WISHES,
    ["payer"],
    ['.orderBy("wished_at_ms")', '.orderBy("wished_at_ms", "desc")'],
  ),
  fault(
    "the wishes under another API key count",
    WISHES,
    ["wish", "payer", "limit"],
    ['    .where("api_key_id", "=", open.ledger.identity.apiKeyId)\n', ""],
  ),
  fault("what the service has can be withdrawn", WISHES, ["wish"], ["return !mayBeMade;", "return true;"]),
  fault(
    "a bill counts only what was charged",
    BILLS,
    ["sums", "limit", "payer"],
    ['sum(sql`COALESCE(known, most)`).as("spent")', 'sum(sql`known`).as("spent")'],
  ),
  fault(
    "each API key pays for a task that several know",
    BILLS,
    ["sums", "limit", "budget"],
    ["COALESCE(task_id, fingerprint || '#' || n)", "id || '#' || n"],
  ),
  fault(
    "the budget counts one API key",
    BILLS,
    ["sums", "budget"],
    [
      '.where("base_url", "=", identity.baseUrl)\n    .where("spent_at_ms", ">", sinceMs)',
      '.where("api_key_id", "=", identity.apiKeyId)\n    .where("spent_at_ms", ">", sinceMs)',
    ],
  ),
  fault(
    "a task without a known charge is free",
    "ledger/schema.ts",
    ["sums", "limit", "budget"],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a source
    ["THEN COALESCE(a.charged_credits, ${RESERVED_CREDITS})", "THEN COALESCE(a.charged_credits, 0)"],
  ),
  fault(
    "a driver writes although another one drives",
    ROWS,
    ["lease", "rows"],
    ['if (owner !== null) update = update.where("owner", "=", owner);', ""],
  ),
  fault(
    "a living driver is replaced",
    ROWS,
    ["lease"],
    ["if (row.owner !== processId && isHeld(open, row))", "if (row.owner !== processId && false)"],
  ),
  fault(
    "a lease never lapses",
    "ledger/database.ts",
    ["lease", "rows", "wish"],
    ["leftMs > 0 && leftMs", "leftMs"],
  ),
  fault(
    "the next attempt keeps its payer",
    ROWS,
    ["rows", "sums"],
    [
      "  ...UNSENT_ATTEMPT,\n  attempt: attempt + 1,",
      '  ...UNSENT_ATTEMPT,\n  payer: "narration1",\n  attempt: attempt + 1,',
    ],
  ),
  fault(
    "a task that is taken over loses its payer",
    "requests/begin.ts",
    ["rows"],
    ["created_at_ms: _created, ...adopted }", "created_at_ms: _created, payer: _payer, ...adopted }"],
  ),
];
