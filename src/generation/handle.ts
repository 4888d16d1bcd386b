/** The name of a record outside the ledger: what a request is called before the service has given it an id. */
import type { TaskRecord } from "../ledger/record.ts";

const HANDLE = /^req-([0-9a-f]{32})$/;

export const handleOf = (record: Pick<TaskRecord, "recordId">): string => `req-${record.recordId}`;

/** The record id in a handle; `undefined`: it is none. */
export const recordIdOfHandle = (text: string): string | undefined => HANDLE.exec(text)?.[1];
