/** Defines the tables of the ledger. Both engines use the same statements. */

/** Grows with every change of the tables or of the form of stored values. A ledger with another version is refused. */
export const SCHEMA_VERSION = 10;

/**
 * Times named `..._at_ms` are wall-clock milliseconds. Times named `..._steady_ms` are steady-clock milliseconds.
 *
 * - `agm_api_keys.state` holds the cooldown, rate slots and heartbeats of a key (see rules/api-key-state.ts). The row
 *   is also the key's lock.
 * - `agm_narration_requests` is a narration's bill: the requests that were sent for it, each with the key that sent it.
 * - `agm_mcp_tasks` holds the calls that were answered as tasks of the protocol's extension (see
 *   rules/mcp-task.ts).
 * - `agm_lookup_keys` finds records by request, task and path. Lookup keys are hashed, because an index entry cannot
 *   contain a long text.
 * - `record_json` is the last column, so that SQLite reads the other columns without reading through a long text.
 */
export const SCHEMA_STATEMENTS: readonly string[] = [
  `CREATE TABLE agm_services (base_url TEXT NOT NULL PRIMARY KEY)`,
  `CREATE TABLE agm_api_keys (api_key_id TEXT NOT NULL PRIMARY KEY, base_url TEXT NOT NULL, state TEXT NOT NULL)`,
  `CREATE TABLE agm_machine_keys (
    machine_id TEXT NOT NULL, api_key_id TEXT NOT NULL, PRIMARY KEY (machine_id, api_key_id))`,
  `CREATE TABLE agm_records (
    api_key_id TEXT NOT NULL,
    record_id TEXT NOT NULL,
    base_url TEXT NOT NULL,
    status TEXT NOT NULL,
    is_resumable INTEGER NOT NULL,
    is_listed INTEGER NOT NULL,
    created_at_ms DOUBLE PRECISION NOT NULL,
    revision INTEGER NOT NULL,
    concurrency_slot_state TEXT,
    concurrency_slot_since_steady_ms DOUBLE PRECISION,
    concurrency_slot_owner TEXT,
    spend_bucket INTEGER,
    spend_credits DOUBLE PRECISION,
    refused_at_ms DOUBLE PRECISION,
    lease_owner TEXT,
    lease_renewed_steady_ms DOUBLE PRECISION,
    lease_ttl_ms DOUBLE PRECISION,
    record_json TEXT NOT NULL,
    PRIMARY KEY (api_key_id, record_id))`,
  `CREATE INDEX agm_records_listed
    ON agm_records (api_key_id, is_listed, status, created_at_ms DESC, record_id DESC)`,
  `CREATE INDEX agm_records_resumable
    ON agm_records (api_key_id, status, created_at_ms DESC, record_id DESC) WHERE is_resumable = 1`,
  `CREATE INDEX agm_records_refused ON agm_records (api_key_id, refused_at_ms) WHERE refused_at_ms IS NOT NULL`,
  `CREATE INDEX agm_records_concurrency_slots ON agm_records (api_key_id) WHERE concurrency_slot_state IS NOT NULL`,
  `CREATE TABLE agm_lookup_keys (
    lookup_key TEXT NOT NULL, api_key_id TEXT NOT NULL, record_id TEXT NOT NULL,
    PRIMARY KEY (lookup_key, api_key_id, record_id))`,
  `CREATE INDEX agm_lookup_keys_record ON agm_lookup_keys (api_key_id, record_id)`,
  `CREATE TABLE agm_spend (
    base_url TEXT NOT NULL,
    bucket INTEGER NOT NULL,
    credits DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (base_url, bucket))`,
  `CREATE TABLE agm_narrations (
    api_key_id TEXT NOT NULL,
    narration_id TEXT NOT NULL,
    base_url TEXT NOT NULL,
    created_at_ms DOUBLE PRECISION NOT NULL,
    revision INTEGER NOT NULL,
    lease_owner TEXT,
    lease_renewed_steady_ms DOUBLE PRECISION,
    lease_ttl_ms DOUBLE PRECISION,
    state TEXT NOT NULL,
    PRIMARY KEY (api_key_id, narration_id))`,
  `CREATE INDEX agm_narrations_newest ON agm_narrations (api_key_id, created_at_ms DESC, narration_id)`,
  `CREATE TABLE agm_narration_requests (
    base_url TEXT NOT NULL,
    narration_id TEXT NOT NULL,
    api_key_id TEXT NOT NULL,
    request_lookup_key TEXT NOT NULL,
    PRIMARY KEY (narration_id, api_key_id, request_lookup_key))`,
  `CREATE TABLE agm_mcp_tasks (
    mcp_task_id TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    api_key_id TEXT NOT NULL,
    target_id TEXT NOT NULL,
    opened_at_ms DOUBLE PRECISION NOT NULL,
    attempt INTEGER NOT NULL,
    save_options TEXT NOT NULL,
    cancel_requested_at_ms DOUBLE PRECISION,
    ended_at_ms DOUBLE PRECISION,
    end_json TEXT)`,
  `CREATE INDEX agm_mcp_tasks_target ON agm_mcp_tasks (target_id)`,
  `CREATE TABLE agm_documents (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL)`,
];
