/** Builds complete rows of the ledger, for tests to which most of their values do not matter. */
import { UNSENT_ATTEMPT } from "../../src/ledger/request-rows.ts";
import type { FileRow, RequestRow } from "../../src/ledger/schema.ts";

/** A request whose task is processing. */
export const sampleRequest = (changes: Partial<RequestRow> = {}): RequestRow => ({
  ...UNSENT_ATTEMPT,
  id: "request-1",
  base_url: "https://service.example",
  api_key_id: "account",
  fingerprint: "work-1",
  loose: `loose of ${changes.fingerprint ?? "work-1"}`,
  body: '{"prompt":"Grüße, 世界 🎧 \\u2028 :base64:"}',
  written: null,
  asked: null,
  take: 1,
  attempt: 1,
  is_listed: 1,
  error_code: null,
  error: null,
  note: null,
  file_name: null,
  replaces: null,
  owner: null,
  lease_until_steady_ms: 0,
  created_at_ms: 1_800_000_000_000,
  updated_at_ms: 1_800_000_000_000,
  n: 1,
  status: "processing",
  task_id: "task-1",
  spent: 0,
  is_open: 0,
  is_current: 1,
  ...changes,
});

/** The saved audio of a request. */
export const sampleFile = (changes: Partial<FileRow> = {}): FileRow => ({
  path: "/home/someone/audio-generation/one.mp3",
  owner: "request-1",
  kind: "audio",
  chapter: null,
  size_bytes: 1,
  sha256: "",
  saved_at_ms: 1_800_000_000_000,
  inputs: null,
  seconds: null,
  lacks: null,
  doubtful: null,
  ...changes,
});
