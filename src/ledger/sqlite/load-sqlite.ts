/** Loads Node's built-in SQLite, without its experimental warning on Node 22. */
import type * as NodeSqlite from "node:sqlite";

/**
 * Returns Node's SQLite module. Node 22 prints a warning on stderr when the module is first loaded, and users take the
 * warning for a bug of this program. Only this warning is dropped. Loading is synchronous, so no other code runs while
 * warnings are filtered.
 *
 * @throws Error if this Node was built without SQLite
 */
export function loadSqlite(): typeof NodeSqlite {
  const original = process.emitWarning;
  const filtered = (...args: unknown[]): void => {
    const [warning, options] = args;
    const text = warning instanceof Error ? warning.message : String(warning);
    const isExperimental =
      options === "ExperimentalWarning" || JSON.stringify(options)?.includes("Experimental");
    if (isExperimental && text.startsWith("SQLite is an experimental feature")) return;
    Reflect.apply(original, process, args);
  };
  process.emitWarning = filtered;
  try {
    const sqlite = process.getBuiltinModule("node:sqlite");
    if (sqlite === undefined) throw new Error("this Node.js was built without SQLite");
    return sqlite;
  } finally {
    process.emitWarning = original;
  }
}
