/** Builds and parses `req-…` handles, which name a record while it has no task id. */
import type { RequestRecord } from "../../ledger/record.ts";

const HANDLE_PATTERN = /^req-([0-9a-f]{32})$/;

/** Returns the request handle of a record, by which later calls find the request while it has no task id. */
export const toRequestHandle = (record: Pick<RequestRecord, "recordId">): string => `req-${record.recordId}`;

/** Extracts the record id from a handle; `undefined` if the text is not a handle. */
export const parseRequestHandle = (text: string): string | undefined => HANDLE_PATTERN.exec(text)?.[1];
