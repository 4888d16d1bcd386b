/**
 * Defines the tables of the ledger. Each fact is stored in one row. What is in flight, spent or billed is a query over
 * attempts.
 *
 * Times named `…_at_ms` are wall-clock milliseconds, which a person may change. Times named `…_steady_ms` are
 * milliseconds of the store's steady clock, which all its processes share (see database.ts).
 */
import type { Selectable } from "kysely";
import type { OutputFormat, SampleRate } from "../contract/audio-format.ts";

/** Grows with every change of the tables or of stored values. A ledger with another version is refused in words. */
export const SCHEMA_VERSION = 11;

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

/** A text with its settings and take, under one API key. */
export interface RequestTable {
  id: string;
  base_url: string;
  api_key_id: string;
  /** Equal for equal bodies and takes at one service, whatever the API key. */
  fingerprint: string;
  /** Hash of the asked text, settings and take, folded: without quotation marks, blanks, case and Unicode form. */
  loose: string | null;
  /** The exact bytes that are sent; `null` for a task that was made outside this ledger. */
  body: string | null;
  /** The text as the user wrote it; `null` if the body has it. */
  written: string | null;
  /** The text after the call's own pronunciations, before those of the settings; `null` if the body has it. */
  asked: string | null;
  /** `null` for a task that was made outside this ledger. */
  take: number | null;
  /** The number of the current attempt, from 1. */
  attempt: number;
  /** 0: only narrations have asked for it, so that lists omit it and its audio lies in the parts' folder. */
  is_listed: number;
  /** Why nobody works on it: the code of `error`. */
  error_code: string | null;
  /** Why nobody works on it: a `StoredError` as JSON. */
  error: string | null;
  /** Why it waits although somebody works on it: a `Note` as JSON. */
  note: string | null;
  file_name: string | null;
  /** The file that its audio takes the place of: a `FileToReplace` as JSON. */
  replaces: string | null;
  /** The process that works on it. */
  owner: string | null;
  lease_until_steady_ms: number;
  created_at_ms: number;
  updated_at_ms: number;
}

/** One try to have a request made: one idempotency key, at most one task, one charge and one payer. */
export interface AttemptTable {
  request: string;
  n: number;
  status: AttemptStatus;
  /** Sends of the submission that may have reached the service and have no answer. */
  maybe: number;
  /** The newest send. An answer to an earlier one changes nothing. */
  send_id: string | null;
  sent_steady_ms: number;
  task_id: string | null;
  /** `null` while the charge is unknown. */
  charged_credits: number | null;
  refunded_credits: number | null;
  audio_seconds: number | null;
  output_format: OutputFormat | null;
  output_rate_hz: SampleRate | null;
  output_seconds: number | null;
  failure_code: string | null;
  failure_message: string | null;
  /** 0: this ledger did not pay for the task. */
  is_paid: number;
  /** The narration that pays; `null`: the callers of the request itself. Written by the transaction that admits. */
  payer: string | null;
  /** The run of the payer in which it was admitted. */
  payer_run: number;
  /** When the reservation was taken: the budget and the lists of spending count by it. */
  spent_at_ms: number;
  accepted_at_ms: number | null;
  finished_at_ms: number | null;
  /** The last answer of the service about the task, on the steady clock; 0 for none. */
  polled_steady_ms: number;
}

/** Who wants a request or a narration. A cancel deletes the row. The wish of a process that has ended does not stand. */
export interface WishTable {
  id: string;
  /** The id of a request or of a narration. */
  target: string;
  /** The API key under which it is wanted. */
  api_key_id: string;
  /** `call` waits, `handle` is a call answered as an MCP task, `self` has returned and let the work go on. */
  kind: "call" | "handle" | "self";
  process: string;
  lease_until_steady_ms: number;
  /**
   * The file name under which a narration's files may take the place of this server's own, unchanged files; empty for
   * the automatic name, `null` for none.
   */
  replaces: string | null;
  wished_at_ms: number;
}

export const NARRATION_STATUSES = ["planned", "running", "stopped", "finished"] as const;

/** A plan with what is wanted of it. The plan itself is a document (documents.ts). */
export interface NarrationTable {
  id: string;
  base_url: string;
  /** The API key under which the text was first given. */
  api_key_id: string;
  /** Hash of the plan: the same text under another API key of this machine is the same narration. */
  plan_hash: string;
  title: string;
  status: (typeof NARRATION_STATUSES)[number];
  max_credits: number | null;
  /** Counts the starts. Failures of an earlier run do not count. */
  run: number;
  /** Grows with each call that wants something, so that a round that has not seen the call cannot end the narration. */
  revision: number;
  /** Why it ended early: code and message as JSON. */
  problem: string | null;
  file_name: string | null;
  skip_failed: number;
  /** The narration of which this one is an edit, a choice of chapters or a newer text. */
  predecessor: string | null;
  /** The sentences that need consent and that an answer has told: a JSON list. */
  told: string;
  started_at_ms: number;
  owner: string | null;
  lease_until_steady_ms: number;
  created_at_ms: number;
}

/** One part of a narration, with the choices made for it. */
export interface PartTable {
  narration: string;
  position: number;
  /** The fingerprint of take 1 at the plan's speed, by which parts of two texts are aligned. */
  input: string;
  /** The loose fingerprint of the same, by which a retyped text is recognised. */
  loose: string;
  /** The request that speaks it now. */
  fingerprint: string;
  take: number;
  /** Chosen in place of the plan's speed. */
  speed: number | null;
  /** Why its audio cannot be joined: code and message as JSON. */
  problem: string | null;
}

/** A file and its owner. */
export interface FileTable {
  path: string;
  /** The id of a request or of a narration. */
  owner: string;
  /** `unusable`: bytes that are not audio of the format. They are kept, because they were paid for. */
  kind: "audio" | "unusable" | "captions" | "srt" | "chapters";
  /** The chapter of a narration's file; `null` for the whole and for a request's file. */
  chapter: number | null;
  size_bytes: number;
  sha256: string;
  saved_at_ms: number;
  /** What a joined file was made of, as a hash that begins with `whole:` or `incomplete:`. */
  inputs: string | null;
  seconds: number | null;
  /** The positions of the parts that a joined file lacks: a JSON list. */
  lacks: string | null;
  /** Parts that a person should listen to: a JSON list. */
  doubtful: string | null;
}

/** An account at the service, known by its API key. Its row is the lock of admissions. */
export interface GateTable {
  /** An API key id, or a base URL whose row is the lock of the budget. */
  id: string;
  cooldown_until_steady_ms: number;
  read_cooldown_until_steady_ms: number;
  /** The sends of the last minute: a JSON list of `GateStamp`. */
  sends: string;
  /** The reads of the last minute: a JSON list of `GateStamp`. */
  reads: string;
}

/** A call that was answered as an MCP task. */
export interface HandleTable {
  id: string;
  api_key_id: string;
  tool: string;
  /** The arguments as JSON. */
  args: string;
  /** The process whose call waits. */
  process: string;
  /** The request or narration that the call wants, since its wish was stored. A call that is resumed names it. */
  target: string | null;
  message: string;
  /** `cancelling`: cancelled while the service may have its request. It is saved if the service has made it. */
  status: "working" | "cancelling" | "cancelled" | "completed";
  /** The result of the call as JSON, once it has ended. */
  result: string | null;
  created_at_ms: number;
  updated_at_ms: number;
}

/** An attempt with its request, what it costs, and whether the service may be working on it: the view `agm_payment`. */
export type PaymentView = RequestTable &
  Omit<AttemptTable, "request"> & {
    /** Credits that are reserved or charged. */
    spent: number;
    /** 1: it holds one of the account's two concurrency slots, unless its time is over. */
    is_open: number;
    /** 1: the current attempt of its request. */
    is_current: number;
  };

export interface Tables {
  agm_request: RequestTable;
  agm_attempt: AttemptTable;
  /** All attempts. */
  agm_payment: PaymentView;
  /** The current attempt of each request. */
  agm_task: PaymentView;
  agm_wish: WishTable;
  agm_narration: NarrationTable;
  agm_part: PartTable;
  agm_file: FileTable;
  agm_gate: GateTable;
  agm_handle: HandleTable;
  /** The API keys that a machine has used, whose rows it therefore sees. */
  agm_machine_key: { machine_id: string; api_key_id: string };
  agm_document: { name: string; value: string };
}

/** A request with its current attempt. */
export type RequestRow = Selectable<PaymentView>;
export type WishRow = Selectable<WishTable>;
export type NarrationRow = Selectable<NarrationTable>;
export type PartRow = Selectable<PartTable>;
export type FileRow = Selectable<FileTable>;
export type HandleRow = Selectable<HandleTable>;

const OPEN_STATUSES = "('unresolved', 'queued', 'processing')";

const PAYMENT = `SELECT r.*, a.n, a.status, a.maybe, a.send_id, a.sent_steady_ms, a.task_id, a.charged_credits,
    a.refunded_credits, a.audio_seconds, a.output_format, a.output_rate_hz, a.output_seconds, a.failure_code,
    a.failure_message, a.is_paid, a.payer, a.payer_run, a.spent_at_ms, a.accepted_at_ms, a.finished_at_ms,
    a.polled_steady_ms,
    CASE WHEN a.is_paid = 0 THEN 0
      WHEN a.status IN ('succeeded', 'saved', 'failed') THEN COALESCE(a.charged_credits, 150)
      WHEN a.maybe > 0 OR a.task_id IS NOT NULL THEN 150 ELSE 0 END AS spent,
    CASE WHEN a.status IN ('queued', 'processing') AND COALESCE(r.error_code, '') <> 'not_found' THEN 1
      WHEN a.status = 'unresolved' AND a.maybe > 0 THEN 1 ELSE 0 END AS is_open,
    CASE WHEN a.n = r.attempt THEN 1 ELSE 0 END AS is_current
  FROM agm_request r JOIN agm_attempt a ON a.request = r.id`;

/** Both engines create the tables, views and indexes with these statements. */
export const SCHEMA_STATEMENTS: readonly string[] = [
  `CREATE TABLE agm_request (
    id TEXT NOT NULL PRIMARY KEY, base_url TEXT NOT NULL, api_key_id TEXT NOT NULL, fingerprint TEXT NOT NULL,
    loose TEXT, take INTEGER, attempt INTEGER NOT NULL, is_listed INTEGER NOT NULL, error_code TEXT, owner TEXT,
    lease_until_steady_ms DOUBLE PRECISION NOT NULL, created_at_ms DOUBLE PRECISION NOT NULL,
    updated_at_ms DOUBLE PRECISION NOT NULL, error TEXT, note TEXT, file_name TEXT, replaces TEXT, written TEXT,
    asked TEXT, body TEXT)`,
  `CREATE TABLE agm_attempt (
    request TEXT NOT NULL, n INTEGER NOT NULL, status TEXT NOT NULL, maybe INTEGER NOT NULL, send_id TEXT,
    sent_steady_ms DOUBLE PRECISION NOT NULL, task_id TEXT, charged_credits DOUBLE PRECISION,
    refunded_credits DOUBLE PRECISION, audio_seconds DOUBLE PRECISION, output_format TEXT, output_rate_hz INTEGER,
    output_seconds DOUBLE PRECISION, failure_code TEXT, failure_message TEXT, is_paid INTEGER NOT NULL, payer TEXT,
    payer_run INTEGER NOT NULL, spent_at_ms DOUBLE PRECISION NOT NULL, accepted_at_ms DOUBLE PRECISION,
    finished_at_ms DOUBLE PRECISION, polled_steady_ms DOUBLE PRECISION NOT NULL, PRIMARY KEY (request, n))`,
  `CREATE TABLE agm_wish (
    id TEXT NOT NULL PRIMARY KEY, target TEXT NOT NULL, api_key_id TEXT NOT NULL, kind TEXT NOT NULL,
    process TEXT NOT NULL, lease_until_steady_ms DOUBLE PRECISION NOT NULL, replaces TEXT,
    wished_at_ms DOUBLE PRECISION NOT NULL)`,
  `CREATE TABLE agm_narration (
    id TEXT NOT NULL PRIMARY KEY, base_url TEXT NOT NULL, api_key_id TEXT NOT NULL, plan_hash TEXT NOT NULL,
    title TEXT NOT NULL, status TEXT NOT NULL, max_credits DOUBLE PRECISION, run INTEGER NOT NULL,
    revision INTEGER NOT NULL, problem TEXT, file_name TEXT, skip_failed INTEGER NOT NULL, predecessor TEXT,
    told TEXT NOT NULL, started_at_ms DOUBLE PRECISION NOT NULL, owner TEXT,
    lease_until_steady_ms DOUBLE PRECISION NOT NULL, created_at_ms DOUBLE PRECISION NOT NULL)`,
  `CREATE TABLE agm_part (
    narration TEXT NOT NULL, position INTEGER NOT NULL, input TEXT NOT NULL, loose TEXT NOT NULL,
    fingerprint TEXT NOT NULL, take INTEGER NOT NULL, speed DOUBLE PRECISION, problem TEXT,
    PRIMARY KEY (narration, position))`,
  `CREATE TABLE agm_file (
    path TEXT NOT NULL, owner TEXT NOT NULL, kind TEXT NOT NULL, chapter INTEGER, size_bytes DOUBLE PRECISION NOT NULL,
    sha256 TEXT NOT NULL, saved_at_ms DOUBLE PRECISION NOT NULL, inputs TEXT, seconds DOUBLE PRECISION, lacks TEXT,
    doubtful TEXT)`,
  `CREATE TABLE agm_gate (
    id TEXT NOT NULL PRIMARY KEY, cooldown_until_steady_ms DOUBLE PRECISION NOT NULL,
    read_cooldown_until_steady_ms DOUBLE PRECISION NOT NULL, sends TEXT NOT NULL, reads TEXT NOT NULL)`,
  `CREATE TABLE agm_handle (
    id TEXT NOT NULL PRIMARY KEY, api_key_id TEXT NOT NULL, tool TEXT NOT NULL, process TEXT NOT NULL,
    status TEXT NOT NULL, created_at_ms DOUBLE PRECISION NOT NULL, updated_at_ms DOUBLE PRECISION NOT NULL,
    target TEXT, message TEXT NOT NULL, args TEXT NOT NULL, result TEXT)`,
  `CREATE TABLE agm_machine_key (
    machine_id TEXT NOT NULL, api_key_id TEXT NOT NULL, PRIMARY KEY (machine_id, api_key_id))`,
  "CREATE TABLE agm_document (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL)",
  `CREATE VIEW agm_payment AS ${PAYMENT}`,
  `CREATE VIEW agm_task AS ${PAYMENT} AND a.n = r.attempt`,
  "CREATE INDEX agm_request_newest ON agm_request (api_key_id, is_listed, created_at_ms DESC, id)",
  "CREATE INDEX agm_request_fingerprint ON agm_request (fingerprint)",
  "CREATE INDEX agm_request_loose ON agm_request (loose)",
  "CREATE INDEX agm_request_owner ON agm_request (owner) WHERE owner IS NOT NULL",
  `CREATE INDEX agm_attempt_open ON agm_attempt (request) WHERE status IN ${OPEN_STATUSES}`,
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

/** One send or read in the last minute. */
export interface GateStamp {
  /** The send; absent for a read. */
  readonly id?: string | undefined;
  readonly atSteadyMs: number;
  /** Whether the send has no answer yet. */
  readonly isOpen?: boolean | undefined;
  /** Whether the read was a poll. */
  readonly isPoll?: boolean | undefined;
}

/** The names of the tables, without the views. */
export const TABLE_NAMES: readonly string[] = SCHEMA_STATEMENTS.flatMap(
  (text) => /^CREATE TABLE (\w+)/.exec(text)?.slice(1) ?? [],
);
