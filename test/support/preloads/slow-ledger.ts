/**
 * Preloaded into the server: the ledger's flushes (or TEST_FLUSHES of them) block the process for TEST_FLUSH_MS each,
 * as on a slow disk.
 */
import { DatabaseSync, StatementSync } from "node:sqlite";

const ms = Number(process.env["TEST_FLUSH_MS"] ?? "0");
let remaining = Number(process.env["TEST_FLUSHES"] ?? "Infinity");

/** Closing merges the journal into the file, which flushes the journal, the file and the folder. */
const FLUSHES_OF_CLOSING = 3;

/** The server has one connection to its ledger, so one flag is enough. */
let isInTransaction = false;

function flush(times: number): void {
  for (let count = 0; count < times && remaining > 0; count += 1) {
    remaining -= 1;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  }
}

/** Every commit of a write is flushed, also that of a single statement. */
function flushAt(sql: string): void {
  const verb = /^\s*(\w+)/.exec(sql)?.[1]?.toUpperCase() ?? "";
  if (verb === "BEGIN") isInTransaction = true;
  if (verb === "COMMIT" || verb === "END") flush(1);
  if (verb === "COMMIT" || verb === "END" || verb === "ROLLBACK") isInTransaction = false;
  if (!isInTransaction && (verb === "INSERT" || verb === "UPDATE" || verb === "DELETE")) flush(1);
}

function before(owner: object, name: string, action: (self: unknown, args: unknown[]) => void): void {
  const original: unknown = Reflect.get(owner, name);
  if (typeof original !== "function") throw new Error(`there is no ${name}`);
  Reflect.set(owner, name, function (this: unknown, ...args: unknown[]): unknown {
    action(this, args);
    return Reflect.apply(original, this, args);
  });
}

before(DatabaseSync.prototype, "close", () => flush(FLUSHES_OF_CLOSING));
for (const name of ["run", "all", "get", "iterate"]) {
  before(StatementSync.prototype, name, (self) => {
    if (self instanceof StatementSync) flushAt(self.sourceSQL);
  });
}
before(DatabaseSync.prototype, "exec", (_self, [sql]) => {
  for (const statement of String(sql).split(";")) flushAt(statement);
});
