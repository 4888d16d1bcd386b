/** Owns the names of everything the ledger keeps in Redis; knows nothing of what is kept. */
import { RECORD_STATUSES } from "../record.ts";

/** Records, each a string of JSON under `<this>:<record id>`. */
export const RECORD_NAMESPACE = "audio-generation-mcp:record";

/** The braces keep everything that one script touches in one slot of a cluster. */
const PREFIX = "audio-generation-mcp:{ledger}:";

const named = (...parts: string[]): string => PREFIX + JSON.stringify(parts);

export const VERSION_KEY = `${PREFIX}version`;
export const CHECK_KEY = `${PREFIX}check`;
/** Hash: record id to its entry as JSON. */
export const INDEX_KEY = `${PREFIX}index`;
/** Hash: record id to its creation in wall-clock milliseconds. */
export const CREATED_KEY = `${PREFIX}created`;
/** Hash: lease name to JSON. */
export const LEASES_KEY = `${PREFIX}leases`;
/** Hash: attempt to JSON. */
export const IN_FLIGHT_KEY = `${PREFIX}in-flight`;
/** Hash: attempt to JSON. */
export const SPEND_KEY = `${PREFIX}spend`;
/** Sorted set: attempt by the time of its reservation. */
export const SPEND_ORDER_KEY = `${PREFIX}spend-order`;
/** Sorted set: holder by its last sign of life. */
export const ALIVE_KEY = `${PREFIX}alive`;
/** Hash: account and class to JSON. */
export const PAUSES_KEY = `${PREFIX}pauses`;

/** Sorted sets: record id by creation. */
export const orderKey = (origin: string): string => named("order", origin);
export const openKey = (origin: string): string => named("open", origin);
export const statusKeys = (origin: string): string[] =>
  RECORD_STATUSES.map((status) => named("status", origin, status));

/** Sets of record ids. */
export const workKey = (workId: string): string => named("work", workId);
export const taskKey = (origin: string, taskId: string): string => named("task", origin, taskId);
export const pathKey = (place: string, path: string): string => named("path", place, path);

/** Hashes: slot id to JSON. */
export const createSlotsKey = (accountId: string): string => named("creates", accountId);
export const readSlotsKey = (accountId: string): string => named("reads", accountId);
