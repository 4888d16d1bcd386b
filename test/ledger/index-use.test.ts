/** No query of the ledger reads all requests or all attempts, so that its calls stay quick however many there are. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import { readBill, readSpending, sumSpentCredits } from "../../src/ledger/bills.ts";
import { findFilesAt, insertFile, listFiles } from "../../src/ledger/file-rows.ts";
import { rememberApiKey } from "../../src/ledger/ledger.ts";
import { requestRead } from "../../src/ledger/read-limits.ts";
import {
  findAttemptsOfTask,
  findRequest,
  findRequestsByFingerprint,
  findRequestsByLoose,
  listRequests,
  listResumable,
  releaseRequest,
  renewLeases,
  saveAsDriver,
} from "../../src/ledger/request-rows.ts";
import { deleteDeadWishes, deleteOldRefusals } from "../../src/ledger/sweep.ts";
import { isRequestWanted } from "../../src/ledger/wishes.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { sampleFile } from "../support/sample-request.ts";
import { scratchFolder } from "../support/scratch.ts";
import { openLedgerAt } from "./open-test-ledger.ts";
import { ask, place } from "./place-request.ts";

const ROWS = 10_000;
/** These hold only rows that are open or driven, which are few. */
const PARTIAL_INDEXES =
  /USING (?:COVERING )?INDEX agm_(?:attempt_open|request_owner|narration_owner|attempt_payer)\b/;
/** The views call the tables `r` and `a`. */
const SCAN = /^SCAN (?:r|a|agm_request|agm_attempt|agm_file)\b/;
const planRows = z.array(z.object({ detail: z.string() }));

/** Copies the saved request "real" with its attempt and its file, a minute apart. */
const COPIES = `
  INSERT INTO agm_request SELECT 'copy-' || n, base_url, api_key_id, fingerprint || n, loose || n, take, attempt, is_listed,
      error_code, owner, lease_until_steady_ms, created_at_ms - n * 60000, updated_at_ms - n * 60000, error, note, file_name,
      replaces, written, asked, body
    FROM agm_request CROSS JOIN numbers WHERE fingerprint = 'real';
  INSERT INTO agm_attempt (request, n, status, maybe, sent_steady_ms, task_id, charged_credits, is_charge_told, is_paid,
      payer_run, spent_at_ms, polled_steady_ms)
    SELECT 'copy-' || numbers.n, 1, status, maybe, sent_steady_ms, task_id || numbers.n, charged_credits, is_charge_told, is_paid,
      payer_run, spent_at_ms - numbers.n * 60000, polled_steady_ms
    FROM agm_attempt CROSS JOIN numbers WHERE task_id = 'task-real';
  INSERT INTO agm_file (path, owner, kind, size_bytes, sha256, saved_at_ms)
    SELECT path || n, 'copy-' || n, kind, size_bytes, sha256, saved_at_ms FROM agm_file CROSS JOIN numbers;`;

it("every query finds its rows by an index", async () => {
  const stateDir = scratchFolder();
  const prepare = vi.spyOn(DatabaseSync.prototype, "prepare");
  const ledger = await openLedgerAt(
    { clock: new ManualClock(), stateDir, storeUrl: null },
    { creditBudget: 1e9 },
  );
  const real = await place(ledger, "real");
  const saved = await saveAsDriver(ledger, real, {
    status: "saved",
    task_id: "task-real",
    charged_credits: 10,
    spent_at_ms: ledger.clock.wallMs(),
  });
  const file = sampleFile({ owner: real.id });
  await ledger.database.run((db) => insertFile(db, file));
  const db = new DatabaseSync(join(stateDir, "ledger.sqlite"), { timeout: 5000 });
  db.exec(`CREATE TEMP TABLE numbers AS WITH RECURSIVE counted(n) AS
    (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < ${ROWS}) SELECT n FROM counted;${COPIES}`);

  const next = await place(ledger, "next");
  expect((await ask(ledger, next)).kind).toBe("admitted");
  await requestRead(ledger, true);
  await renewLeases(ledger, { requests: [next.id], narrations: [next.id] });
  await releaseRequest(ledger, real.id);
  expect(await findRequest(ledger, real.id)).toBeDefined();
  expect(await findAttemptsOfTask(ledger, "task-real")).toHaveLength(1);
  expect(await findRequestsByFingerprint(ledger, "real")).toHaveLength(1);
  expect(
    await ledger.database.run((each) => findRequestsByLoose(each, ledger, [saved.loose ?? ""], "visible")),
  ).toHaveLength(1);
  for (const apiKeys of ["own", "visible"] as const) {
    for (const includesParts of [true, false]) {
      for (const statuses of [null, ["waiting"], ["saved", "succeeded"], ["failed"]] as const)
        await listRequests(ledger, { statuses, apiKeys, includesParts, limit: 20 });
    }
  }
  await listResumable(ledger, 20);
  expect(await listFiles(ledger, [real.id])).toHaveLength(1);
  expect(await findFilesAt(ledger, file.path)).toHaveLength(1);
  await deleteOldRefusals(ledger);
  await deleteDeadWishes(ledger);
  await isRequestWanted(ledger, real.id);
  await ledger.database.run((each) => rememberApiKey(each, ledger));
  await ledger.database.run((each) => readBill(each, "narration"));
  await ledger.database.run((each) => sumSpentCredits(each, ledger, ledger.clock.wallMs() - 86_400_000));
  await readSpending(ledger);

  const texts = new Set(
    prepare.mock.calls.map(([text]) => text).filter((text) => /agm_(?:current|request|attempt)/.test(text)),
  );
  expect(texts.size).toBeGreaterThan(20);
  const listScans = (text: string): string[] =>
    planRows
      .parse(db.prepare(`EXPLAIN QUERY PLAN ${text}`).all())
      .filter(({ detail }) => SCAN.test(detail) && !PARTIAL_INDEXES.test(detail))
      .map(({ detail }) => `${detail}: ${text}`);
  expect([...texts].flatMap(listScans)).toEqual([]);
  expect(listScans("SELECT * FROM agm_current_attempt WHERE file_name = ?")).toHaveLength(1);
  // What few rows have is found by that, not by reading all rows of the API key.
  const rare = [...texts].filter((text) => text.includes('from "agm_attempt" where "status" in'));
  expect(rare.length).toBeGreaterThan(3);
  for (const text of rare) {
    const details = planRows
      .parse(db.prepare(`EXPLAIN QUERY PLAN ${text}`).all())
      .map(({ detail }) => detail);
    expect(details.join("; "), text).toMatch(/agm_attempt_(?:status|open)/);
    expect(details.join("; "), text).not.toMatch(/SEARCH (?:r|agm_request) USING INDEX agm_request_newest/);
  }
  db.close();
});
