/** The tables of the ledger file, their indices and their version. */

/** Grows with every change that another version would misread; a file of another layout is refused. */
export const SCHEMA_VERSION = 2;

/** Marks the file as ours ("AuGM"), so that another program's database is not written into. */
export const APPLICATION_ID = 0x4175474d;

/**
 * Times named `..._at_ms` are steady-clock milliseconds, except `created_at_ms`, which is the wall's.
 *
 * `records` holds every value that Keyv keeps. What is no record (a copy set aside) has no columns but key and value.
 * `value` stands last, so that reading the others never walks through a long text. Each index of lists holds all that
 * its walk needs; those with `is_open` stay as small as the work that is left, those with
 * `is_listed` as what a person is shown.
 */
export const SCHEMA = `
CREATE TABLE records (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  record_id TEXT,
  account_id TEXT,
  work_id TEXT,
  origin TEXT,
  task_id TEXT,
  status TEXT,
  is_open INTEGER,
  is_listed INTEGER,
  created_at_ms REAL,
  revision INTEGER,
  flight TEXT,
  flight_at_ms REAL,
  flight_holder TEXT,
  spend_credits REAL,
  spend_bucket INTEGER,
  lease_holder TEXT,
  lease_at_ms REAL,
  lease_ttl_ms REAL,
  value TEXT NOT NULL
);
CREATE INDEX records_newest ON records (origin, created_at_ms DESC, record_id DESC)
  WHERE is_listed = 1;
CREATE INDEX records_status ON records (origin, status, created_at_ms DESC, record_id DESC)
  WHERE is_listed = 1;
CREATE INDEX records_open ON records (origin, status, created_at_ms DESC, record_id DESC)
  WHERE is_open = 1;
CREATE INDEX records_account ON records (origin, account_id, created_at_ms DESC, record_id DESC)
  WHERE origin IS NOT NULL;
CREATE INDEX records_account_status ON records (origin, account_id, status, created_at_ms DESC, record_id DESC)
  WHERE origin IS NOT NULL;
CREATE INDEX records_account_open ON records (origin, account_id, status, created_at_ms DESC, record_id DESC)
  WHERE is_open = 1;
CREATE INDEX records_work ON records (work_id) WHERE work_id IS NOT NULL;
CREATE INDEX records_task ON records (origin, task_id) WHERE task_id IS NOT NULL;
CREATE INDEX records_flight ON records (account_id) WHERE flight IS NOT NULL;

CREATE TABLE narrations (
  origin TEXT NOT NULL,
  narration_id TEXT NOT NULL,
  created_at_ms REAL NOT NULL,
  revision INTEGER NOT NULL,
  lease_holder TEXT,
  lease_at_ms REAL,
  lease_ttl_ms REAL,
  state TEXT NOT NULL,
  PRIMARY KEY (origin, narration_id)
);
CREATE INDEX narrations_newest ON narrations (origin, created_at_ms DESC, narration_id);

CREATE TABLE narration_plans (
  origin TEXT NOT NULL,
  narration_id TEXT NOT NULL,
  plan TEXT NOT NULL,
  PRIMARY KEY (origin, narration_id)
);

CREATE TABLE paths (
  path TEXT NOT NULL,
  account_id TEXT NOT NULL,
  record_id TEXT NOT NULL,
  PRIMARY KEY (path, account_id, record_id)
) WITHOUT ROWID;
CREATE INDEX paths_record ON paths (account_id, record_id);

CREATE TABLE slots (
  slot_id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL,
  limit_class TEXT NOT NULL,
  holder TEXT NOT NULL,
  is_pending INTEGER NOT NULL,
  seen_at_ms REAL NOT NULL
);
CREATE INDEX slots_account ON slots (account_id, limit_class, seen_at_ms);

CREATE TABLE alive (
  holder TEXT NOT NULL PRIMARY KEY,
  seen_at_ms REAL NOT NULL
);
CREATE INDEX alive_seen ON alive (seen_at_ms);

CREATE TABLE spend (
  origin TEXT NOT NULL,
  bucket INTEGER NOT NULL,
  credits REAL NOT NULL,
  PRIMARY KEY (origin, bucket)
) WITHOUT ROWID;

CREATE TABLE pauses (
  account_id TEXT NOT NULL,
  limit_class TEXT NOT NULL,
  set_at_ms REAL NOT NULL,
  length_ms REAL NOT NULL,
  PRIMARY KEY (account_id, limit_class)
);

CREATE TABLE checks (
  name TEXT NOT NULL PRIMARY KEY,
  count INTEGER NOT NULL
);

PRAGMA application_id = ${APPLICATION_ID};
PRAGMA user_version = ${SCHEMA_VERSION};
`;
