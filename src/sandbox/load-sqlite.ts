/**
 * Loads Node's built-in SQLite without the experimental warning of Node 22, which people read as a fault of the
 * sandbox.
 */
import type * as NodeSqlite from "node:sqlite";

/**
 * Node's SQLite module; that one warning is dropped, and every other one passes. Loading is synchronous, so
 * nothing else runs meanwhile. (The books has its own: the sandbox imports nothing from the tower.)
 */
export function loadSqlite(): typeof NodeSqlite {
  const original = process.emitWarning;
  process.emitWarning = (...args: unknown[]): void => {
    if (/^SQLite is an experimental feature/.test(String(args[0]))) return;
    Reflect.apply(original, process, args);
  };
  try {
    return process.getBuiltinModule("node:sqlite");
  } finally {
    process.emitWarning = original;
  }
}
