/** Stores requests and asks for their admission, in tests and in their child processes. */
import { requestAdmission } from "../../src/ledger/admission.ts";
import { deriveRequestId } from "../../src/ledger/identity.ts";
import type { Ledger } from "../../src/ledger/ledger.ts";
import { runTransaction } from "../../src/ledger/open-transaction.ts";
import { acquireRequest, insertRequest, readRequest } from "../../src/ledger/request-rows.ts";
import type { RequestRow } from "../../src/ledger/schema.ts";
import { addWish } from "../../src/ledger/wishes.ts";
import { sampleRequest } from "../support/sample-request.ts";

/** Stores a request that a call waits for, and lets the process of the ledger drive it. */
export async function place(
  ledger: Ledger,
  text: string,
  changes: Partial<RequestRow> = {},
  isWanted = true,
): Promise<RequestRow> {
  const { identity, clock } = ledger;
  const nowMs = clock.wallMs();
  const fresh = sampleRequest({
    ...{ id: deriveRequestId(text, identity.apiKeyId), base_url: identity.baseUrl, fingerprint: text },
    ...{ api_key_id: identity.apiKeyId, created_at_ms: nowMs, updated_at_ms: nowMs },
    ...{ body: JSON.stringify({ prompt: text }), status: "waiting", task_id: null, ...changes },
  });
  await runTransaction(ledger, async (open) => {
    await insertRequest(open, fresh);
    if (isWanted) await addWish(open, { target: fresh.id, kind: "call" });
  });
  const { row } = await acquireRequest(ledger, fresh.id);
  if (row === undefined) throw new Error("the row was not stored");
  return row;
}

/** Asks whether the submission of a request may leave. */
export const ask = (
  ledger: Ledger,
  row: Pick<RequestRow, "id">,
  sendId: string = crypto.randomUUID(),
  isResend = false,
) => requestAdmission(ledger, row, sendId, isResend);

export async function look(ledger: Ledger, { id }: Pick<RequestRow, "id">): Promise<RequestRow> {
  const row = await ledger.database.run((db) => readRequest(db, id));
  if (row === undefined) throw new Error("the row is gone");
  return row;
}
