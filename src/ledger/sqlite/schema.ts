/** Owns the tables of the ledger file, their indices and their version; knows nothing of what is asked of them. */

/** Grows with every change that an older program would misread; a file of a newer version is refused. */
export const SCHEMA_VERSION = 1;

/** Marks the file as ours ("AuGM"), so that another program's database is not written into. */
export const APPLICATION_ID = 0x4175474d;

/**
 * Times named `..._at_ms` are steady-clock milliseconds, except `created_at_ms` and `reserved_at_ms`, which are
 * wall-clock ones. Seen at: settled, or last known to be pending in a living process.
 */
export const SCHEMA = `
CREATE TABLE kv (
  key TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
);

CREATE TABLE task_index (
  record_id TEXT NOT NULL PRIMARY KEY,
  work_id TEXT NOT NULL,
  origin TEXT NOT NULL,
  task_id TEXT,
  status TEXT NOT NULL,
  is_open INTEGER NOT NULL,
  created_at_ms REAL NOT NULL
);
CREATE INDEX task_index_newest ON task_index (origin, created_at_ms DESC, record_id DESC);
CREATE INDEX task_index_status ON task_index (origin, status, created_at_ms DESC, record_id DESC);
CREATE INDEX task_index_open ON task_index (origin, created_at_ms DESC, record_id DESC) WHERE is_open = 1;
CREATE INDEX task_index_work ON task_index (work_id, created_at_ms, record_id);
CREATE INDEX task_index_task ON task_index (origin, task_id, created_at_ms, record_id);

CREATE TABLE saved_paths (
  place TEXT NOT NULL,
  path TEXT NOT NULL,
  record_id TEXT NOT NULL,
  PRIMARY KEY (place, path, record_id)
);

CREATE TABLE leases (
  name TEXT NOT NULL PRIMARY KEY,
  holder TEXT NOT NULL,
  renewed_at_ms REAL NOT NULL,
  ttl_ms REAL NOT NULL
);

CREATE TABLE create_slots (
  slot_id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL,
  record_id TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  holder TEXT NOT NULL,
  is_pending INTEGER NOT NULL,
  seen_at_ms REAL NOT NULL
);
CREATE INDEX create_slots_account ON create_slots (account_id, seen_at_ms);
CREATE INDEX create_slots_holder ON create_slots (holder) WHERE is_pending = 1;

CREATE TABLE in_flight (
  record_id TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  account_id TEXT NOT NULL,
  holder TEXT NOT NULL,
  state TEXT NOT NULL,
  prior_state TEXT,
  seen_at_ms REAL NOT NULL,
  attempted_at_ms REAL NOT NULL,
  PRIMARY KEY (record_id, attempt)
);
CREATE INDEX in_flight_account ON in_flight (account_id);
CREATE INDEX in_flight_holder ON in_flight (holder);

CREATE TABLE spend (
  record_id TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  origin TEXT NOT NULL,
  counted_credits REAL NOT NULL,
  charged_credits REAL,
  is_open INTEGER NOT NULL,
  reserved_at_ms REAL NOT NULL,
  PRIMARY KEY (record_id, attempt)
);
CREATE INDEX spend_origin ON spend (origin, reserved_at_ms, counted_credits);

CREATE TABLE read_slots (
  slot_id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL,
  holder TEXT NOT NULL,
  is_pending INTEGER NOT NULL,
  seen_at_ms REAL NOT NULL
);
CREATE INDEX read_slots_account ON read_slots (account_id, seen_at_ms);
CREATE INDEX read_slots_holder ON read_slots (holder) WHERE is_pending = 1;

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
