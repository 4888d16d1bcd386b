/**
 * Defines the tables of the ledger, each once: its columns, its row's type, the check of a row, and its SQL. Each fact is
 * stored in one row. What is in flight, spent or billed is a query over attempts.
 *
 * Times named `…_at_ms` are wall-clock milliseconds, which a person may change. Times named `…_steady_ms` are
 * milliseconds of the store's steady clock, which all its processes share (see database.ts). Long texts are the last
 * columns of their table, so that SQLite finds the others quickly.
 */
import { z } from "zod";
import { OUTPUT_FORMATS, SAMPLE_RATES } from "../contract/audio-format.ts";
import { RESERVED_CREDITS } from "../contract/billing.ts";

/** Grows with every change of the tables or of stored values. A ledger with another version is refused in words. */
export const SCHEMA_VERSION = 14;

/**
 * How an attempt stands. `waiting`: nothing was sent. `unresolved`: sent or about to be sent, answer unseen. `saved`:
 * succeeded, and a file of it was published. The others are the service's own statuses.
 */
export const ATTEMPT_STATUSES = [
  "waiting",
  "unresolved",
  "queued",
  "processing",
  "succeeded",
  "saved",
  "failed",
] as const;
export type AttemptStatus = (typeof ATTEMPT_STATUSES)[number];

/** The statuses in which the service may be working on an attempt. */
export const OPEN_STATUSES = ["unresolved", "queued", "processing"] as const satisfies AttemptStatus[];

export const NARRATION_STATUSES = ["planned", "running", "stopped", "finished"] as const;

const text = z.string();
const textOrNull = text.nullable();
const int = z.int();
const double = z.number();
const doubleOrNull = double.nullable();

/** A text with its settings and take, under one API key. */
const requestShape = {
  id: text,
  base_url: text,
  api_key_id: text,
  /** Equal for equal bodies and takes at one service, whatever the API key. */
  fingerprint: text,
  /** Hash of the asked text, settings and take, folded: without quotation marks, blanks, case and Unicode form. */
  loose: textOrNull,
  /** `null` for a task that was made outside this ledger. */
  take: int.positive().nullable(),
  /** The number of the current attempt, from 1. */
  attempt: int.positive(),
  /** 0: only narrations have asked for it, so that lists omit it and its audio lies in the parts' folder. */
  is_listed: int,
  /** Why nobody works on it: the code of `error`. */
  error_code: textOrNull,
  /** The process that works on it. */
  owner: textOrNull,
  lease_until_steady_ms: double,
  created_at_ms: double,
  updated_at_ms: double,
  /** Why nobody works on it: a `StoredError` as JSON. */
  error: textOrNull,
  /** Why it waits although somebody works on it: a `Note` as JSON. */
  note: textOrNull,
  file_name: textOrNull,
  /** The file that its audio takes the place of: a `FileToReplace` as JSON. */
  replaces: textOrNull,
  /** The text as the user wrote it; `null` if the body has it. */
  written: textOrNull,
  /** The text after the call's own pronunciations, before those of the settings; `null` if the body has it. */
  asked: textOrNull,
  /** The exact bytes that are sent; `null` for a task that was made outside this ledger. */
  body: textOrNull,
};

/** One try to have a request made: one idempotency key, at most one task, one charge and one payer. */
const attemptShape = {
  status: z.enum(ATTEMPT_STATUSES),
  /** Sends of the submission that may have reached the service and have no answer. */
  maybe: int.nonnegative(),
  /** The newest send. An answer to an earlier one changes nothing. */
  send_id: textOrNull,
  sent_steady_ms: double,
  task_id: textOrNull,
  /** `null` while the charge is unknown. */
  charged_credits: doubleOrNull,
  refunded_credits: doubleOrNull,
  /** 1: an answer has named the charge. */
  is_charge_told: int,
  audio_seconds: doubleOrNull,
  output_format: z.enum(OUTPUT_FORMATS).nullable(),
  output_rate_hz: z.literal(SAMPLE_RATES).nullable(),
  output_seconds: doubleOrNull,
  failure_code: textOrNull,
  failure_message: textOrNull,
  /** 0: this ledger did not pay for the task. */
  is_paid: int,
  /** The narration that pays; `null`: the callers of the request itself. Written by the transaction that admits. */
  payer: textOrNull,
  /** The run of the payer in which it was admitted. */
  payer_run: int,
  /** When the reservation was taken: the budget and the lists of spending count by it. */
  spent_at_ms: double,
  accepted_at_ms: doubleOrNull,
  finished_at_ms: doubleOrNull,
  /** The last answer of the service about the task, on the steady clock; 0 for none. */
  polled_steady_ms: double,
};

/** Who wants a request or a narration. A cancel deletes the row. The wish of a process that has ended does not stand. */
const wishShape = {
  id: text,
  /** The id of a request or of a narration. */
  target: text,
  /** The API key under which it is wanted. */
  api_key_id: text,
  /** `call` waits, `handle` is a call answered as an MCP task, `self` has returned and let the work go on. */
  kind: z.enum(["call", "handle", "self"]),
  process: text,
  lease_until_steady_ms: double,
  /**
   * The file name under which a narration's files may take the place of this server's own, unchanged files; empty for
   * the automatic name, `null` for none.
   */
  replaces: textOrNull,
  wished_at_ms: double,
};

/** A plan with what is wanted of it. The plan itself is a document (documents.ts). */
const narrationShape = {
  id: text,
  base_url: text,
  /** The API key under which the text was first given. */
  api_key_id: text,
  /** Hash of the plan: the same text under another API key of this machine is the same narration. */
  plan_hash: text,
  title: text,
  status: z.enum(NARRATION_STATUSES),
  max_credits: doubleOrNull,
  /** Counts the starts. Failures of an earlier run do not count. */
  run: int,
  /** Grows with each call that wants something, so that a round that has not seen the call cannot end the narration. */
  revision: int,
  /** Why it ended early: code and message as JSON. */
  problem: textOrNull,
  file_name: textOrNull,
  skip_failed: int,
  /** The position of the part that somebody listens to: missing parts from there on are made first. */
  heard_part: int,
  /** The narration of which this one is an edit, a choice of chapters or a newer text. */
  predecessor: textOrNull,
  /** What answers have told of what needs consent: a JSON list (kinship.ts). */
  told: text,
  started_at_ms: double,
  owner: textOrNull,
  lease_until_steady_ms: double,
  created_at_ms: double,
};

/** One part of a narration, with the choices made for it. */
const partShape = {
  narration: text,
  position: int,
  /** The fingerprint of take 1 at the plan's speed, by which parts of two texts are aligned. */
  input: text,
  /** The loose fingerprint of the request that speaks it now, by which a retyped text is recognised. */
  loose: text,
  /** The request that speaks it now. */
  fingerprint: text,
  take: int,
  /** Chosen in place of the plan's speed. */
  speed: doubleOrNull,
  /** Why its audio cannot be joined: code and message as JSON. */
  problem: textOrNull,
};

/** A file and its owner. */
const fileShape = {
  path: text,
  /** The id of a request or of a narration. */
  owner: text,
  /** `unusable`: bytes that are not audio of the format. They are kept, because they were paid for. */
  kind: z.enum(["audio", "unusable", "captions", "srt", "chapters"]),
  /** The chapter of a narration's file; `null` for the whole and for a request's file. */
  chapter: int.nullable(),
  size_bytes: double,
  sha256: text,
  saved_at_ms: double,
  /** What a joined file was made of, as a hash that begins with `whole:` or `incomplete:`. */
  inputs: textOrNull,
  /** The length of a joined file, or of audio that is shorter than the service stated; `null` for other audio. */
  seconds: doubleOrNull,
  /** The positions of the parts that a joined file lacks: a JSON list. */
  lacks: textOrNull,
  /** Parts that a person should listen to: a JSON list. */
  doubtful: textOrNull,
};

/** An account at the service, known by its API key. Its row is the lock of admissions. */
const gateShape = {
  /** An API key id, or a base URL whose row is the lock of the budget. */
  id: text,
  cooldown_until_steady_ms: double,
  read_cooldown_until_steady_ms: double,
  /** The sends of the last minute: a JSON list of `GateStamp`. */
  sends: text,
  /** The reads of the last minute: a JSON list of `GateStamp`. */
  reads: text,
};

/** A call that was answered as an MCP task. */
const handleShape = {
  id: text,
  api_key_id: text,
  tool: text,
  /** The process whose call waits. */
  process: text,
  /** `cancelling`: cancelled while the service may have its request. It is saved if the service has made it. */
  status: z.enum(["working", "cancelling", "cancelled", "completed"]),
  created_at_ms: double,
  updated_at_ms: double,
  /** The request or narration that the call wants, since its wish was stored. A call that is resumed names it. */
  target: textOrNull,
  message: text,
  /** The arguments as JSON. */
  args: text,
  /** The result of the call as JSON, once it has ended. */
  result: textOrNull,
};

/** The API keys that a machine has used, whose rows it therefore sees. */
const machineKeyShape = { machine_id: text, api_key_id: text };

const TABLES = {
  agm_request: { columns: requestShape, primaryKey: "id" },
  agm_attempt: { columns: { request: text, n: int, ...attemptShape }, primaryKey: "request, n" },
  agm_wish: { columns: wishShape, primaryKey: "id" },
  agm_narration: { columns: narrationShape, primaryKey: "id" },
  agm_part: { columns: partShape, primaryKey: "narration, position" },
  agm_file: { columns: fileShape, primaryKey: null },
  agm_gate: { columns: gateShape, primaryKey: "id" },
  agm_handle: { columns: handleShape, primaryKey: "id" },
  agm_machine_key: { columns: machineKeyShape, primaryKey: "machine_id, api_key_id" },
  agm_document: { columns: { name: text, value: text }, primaryKey: "name" },
};
export const TABLE_NAMES: readonly string[] = Object.keys(TABLES);

const narrationSchema = z.object(narrationShape);
/** What the views compute. */
const viewShape = {
  n: int,
  /** Credits that are reserved or charged. */
  spent: double,
  /** 1: it holds one of the account's two concurrency slots, unless its time is over. */
  is_open: int,
  /** 1: the current attempt of its request. */
  is_current: int,
};
/** An attempt with its request, what it costs, and whether the service may be working on it. */
const requestAttemptSchema = z.object({ ...requestShape, ...attemptShape, ...viewShape });

/** A request with its current attempt. */
export type RequestRow = z.infer<typeof requestAttemptSchema>;

const readColumnsSchema = requestAttemptSchema.partial();
/** Whether the columns that were read of a request are as they must be. */
export const isWhole = (row: Partial<RequestRow>): boolean => readColumnsSchema.safeParse(row).success;
export type NarrationRow = z.infer<typeof narrationSchema>;

type Row<Columns extends z.core.$ZodShape> = z.infer<z.ZodObject<Columns>>;
export type WishRow = Row<typeof wishShape>;
export type PartRow = Row<typeof partShape>;
export type FileRow = Row<typeof fileShape>;
export type GateRow = Row<typeof gateShape>;
export type HandleRow = Row<typeof handleShape>;

export type Tables = { [Name in keyof typeof TABLES]: Row<(typeof TABLES)[Name]["columns"]> } & {
  /** All attempts: a view. */
  agm_request_attempt: RequestRow;
  /** The current attempt of each request: a view. */
  agm_current_attempt: RequestRow;
};

// The casts are sound, because no shape has other keys.
export const REQUEST_COLUMNS = Object.keys(requestShape) as Array<keyof typeof requestShape>;
export const ATTEMPT_COLUMNS = Object.keys(attemptShape) as Array<keyof typeof attemptShape>;
export const VIEW_COLUMNS = Object.keys(viewShape) as Array<keyof typeof viewShape>;

/** Keeps the rows that are whole, so that one that somebody has damaged by hand hides no others. */
function parseRows<Row>(schema: z.ZodType<Row>, rows: readonly unknown[]): Row[] {
  return rows.flatMap((row) => {
    const parsed = schema.safeParse(row);
    return parsed.success ? [parsed.data] : [];
  });
}
export const parseRequests = (rows: readonly unknown[]): RequestRow[] =>
  parseRows(requestAttemptSchema, rows);
export const parseNarrations = (rows: readonly unknown[]): NarrationRow[] => parseRows(narrationSchema, rows);

// ---- SQL ----

function toSqlType(type: unknown): string {
  if (type instanceof z.ZodNumberFormat || type instanceof z.ZodLiteral) return "INTEGER";
  return type instanceof z.ZodNumber ? "DOUBLE PRECISION" : "TEXT";
}

function buildTable(name: string, shape: z.core.$ZodShape, primaryKey: string | null): string {
  const columns = Object.entries(shape).map(([column, type]) =>
    type instanceof z.ZodNullable
      ? `${column} ${toSqlType(type.unwrap())}`
      : `${column} ${toSqlType(type)} NOT NULL`,
  );
  const key = primaryKey === null ? [] : [`PRIMARY KEY (${primaryKey})`];
  return `CREATE TABLE ${name} (${[...columns, ...key].join(", ")})`;
}

const OPEN_LIST = `(${OPEN_STATUSES.map((status) => `'${status}'`).join(", ")})`;

const REQUEST_ATTEMPT = `SELECT r.*, a.n, ${ATTEMPT_COLUMNS.map((column) => `a.${column}`).join(", ")},
    CASE WHEN a.is_paid = 0 THEN 0
      WHEN a.status IN ('succeeded', 'saved', 'failed') THEN COALESCE(a.charged_credits, ${RESERVED_CREDITS})
      WHEN a.maybe > 0 OR a.task_id IS NOT NULL THEN ${RESERVED_CREDITS} ELSE 0 END AS spent,
    CASE WHEN a.status IN ('queued', 'processing') AND COALESCE(r.error_code, '') NOT IN ('not_found', 'unexpected_response') THEN 1
      WHEN a.status = 'unresolved' AND a.maybe > 0 THEN 1 ELSE 0 END AS is_open,
    CASE WHEN a.n = r.attempt THEN 1 ELSE 0 END AS is_current
  FROM agm_request r JOIN agm_attempt a ON a.request = r.id`;

/** Both engines create the tables, views and indexes with these statements. */
export const SCHEMA_STATEMENTS: readonly string[] = [
  ...Object.entries(TABLES).map(([name, { columns, primaryKey }]) => buildTable(name, columns, primaryKey)),
  `CREATE VIEW agm_request_attempt AS ${REQUEST_ATTEMPT}`,
  `CREATE VIEW agm_current_attempt AS ${REQUEST_ATTEMPT} AND a.n = r.attempt`,
  "CREATE INDEX agm_request_newest ON agm_request (api_key_id, is_listed, created_at_ms DESC, id)",
  "CREATE INDEX agm_request_fingerprint ON agm_request (fingerprint)",
  "CREATE INDEX agm_request_loose ON agm_request (loose)",
  "CREATE INDEX agm_request_owner ON agm_request (owner) WHERE owner IS NOT NULL",
  `CREATE INDEX agm_attempt_open ON agm_attempt (request) WHERE status IN ${OPEN_LIST}`,
  "CREATE INDEX agm_attempt_status ON agm_attempt (status)",
  "CREATE INDEX agm_attempt_task ON agm_attempt (task_id)",
  "CREATE INDEX agm_attempt_spent ON agm_attempt (spent_at_ms)",
  "CREATE INDEX agm_attempt_payer ON agm_attempt (payer) WHERE payer IS NOT NULL",
  "CREATE INDEX agm_wish_target ON agm_wish (target)",
  "CREATE INDEX agm_wish_process ON agm_wish (process)",
  "CREATE INDEX agm_narration_newest ON agm_narration (api_key_id, created_at_ms DESC)",
  "CREATE INDEX agm_narration_plan ON agm_narration (plan_hash)",
  "CREATE INDEX agm_narration_owner ON agm_narration (owner) WHERE owner IS NOT NULL",
  "CREATE INDEX agm_part_fingerprint ON agm_part (fingerprint)",
  "CREATE INDEX agm_part_input ON agm_part (input)",
  "CREATE INDEX agm_part_loose ON agm_part (loose)",
  "CREATE INDEX agm_file_owner ON agm_file (owner)",
  "CREATE INDEX agm_file_path ON agm_file (path)",
  "CREATE INDEX agm_handle_status ON agm_handle (status, updated_at_ms)",
];
