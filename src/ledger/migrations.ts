/** Brings records of earlier versions to this one; nothing that they say is lost. */
import { z } from "zod";
import { RESERVED_CREDITS } from "../contract/billing.ts";
import { accountId, recordId } from "./identity.ts";
import { RECORD_STATUSES, RECORD_VERSION, type TaskRecord, taskRecordSchema } from "./record.ts";

/** What of a record of version 1 (0.1.0) is reckoned with; everything else is carried over as it is. */
const version1 = z.looseObject({
  version: z.literal(1),
  workId: z.string(),
  origin: z.string(),
  fingerprint: z.string(),
  input: z.string().nullable(),
  status: z.enum(RECORD_STATUSES),
  billing: z.looseObject({ charged_credits: z.number().nullable() }).nullable(),
  createdAtMs: z.number(),
  sentAtMs: z.number().nullable(),
  finishedAtMs: z.number().nullable(),
});
type Version1 = z.infer<typeof version1>;

/** What a budget counts for a record that says nothing of it: a reservation until the charge is known. */
function spendOf(record: Version1): TaskRecord["spend"] {
  // A task that was made elsewhere was never paid for from here.
  if (record.input === null || record.status === "waiting") return null;
  const charged = record.billing?.charged_credits ?? null;
  const isFailed = record.status === "failed";
  const hasEnded = isFailed || record.status === "succeeded";
  const credits = hasEnded ? (charged ?? (isFailed ? 0 : RESERVED_CREDITS)) : RESERVED_CREDITS;
  if (credits === 0) return null;
  const atMs = (hasEnded ? record.finishedAtMs : null) ?? record.sentAtMs ?? record.createdAtMs;
  return { credits, atMs };
}

/** Version 1 knew an account by its key's fingerprint, and named its records by that. */
function fromVersion1(record: Version1): unknown {
  const { fingerprint, ...rest } = record;
  const account = accountId(record.origin, fingerprint);
  return {
    ...rest,
    version: RECORD_VERSION,
    revision: 1,
    accountId: account,
    recordId: recordId(record.workId, account),
    send: null,
    mayHaveArrived: record.status === "unresolved",
    isTooLarge: false,
    spend: spendOf(record),
    earlierCredits: 0,
  };
}

const versionOf = z.object({ version: z.number() });

export type ReadRecord =
  | { readonly kind: "record"; readonly record: TaskRecord }
  | { readonly kind: "newer"; readonly version: number }
  | { readonly kind: "damaged"; readonly why: string };

/** Reads a stored value, of whatever version it is. */
export function readRecord(value: unknown): ReadRecord {
  const version = versionOf.safeParse(value).data?.version;
  if (version !== undefined && version > RECORD_VERSION) return { kind: "newer", version };
  const earlier = version === 1 ? version1.safeParse(value).data : undefined;
  const parsed = taskRecordSchema.safeParse(earlier === undefined ? value : fromVersion1(earlier));
  if (parsed.success) return { kind: "record", record: parsed.data };
  return { kind: "damaged", why: z.prettifyError(parsed.error) };
}
