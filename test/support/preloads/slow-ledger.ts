/**
 * Preloaded into the server: the ledger's flushes (or TEST_FLUSHES of them) block the process for TEST_FLUSH_MS each,
 * as on a slow disk.
 */
import { DatabaseSync, StatementSync } from "node:sqlite";

const ms = Number(process.env["TEST_FLUSH_MS"] ?? "0");
let remaining = Number(process.env["TEST_FLUSHES"] ?? "Infinity");

/** Closing merges the journal into the file, which flushes the journal, the file and the folder. */
const FLUSHES_OF_CLOSING = 3;

/**
 * Whether every commit blocks. A commit blocks on a slow disk if the journal is full, because it merges the journal
 * into the file.
 */
const isFull = process.env["TEST_FULL_JOURNAL"] !== undefined;

/** Whether a commit must be on the disk, according to the last PRAGMA. */
let isDurable = true;

function flush(times: number): void {
  for (let count = 0; count < times && remaining > 0; count += 1) {
    remaining -= 1;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  }
}

function before(owner: object, name: string, action: (self: unknown, args: unknown[]) => void): void {
  const original: unknown = Reflect.get(owner, name);
  if (typeof original !== "function") throw new Error(`there is no ${name}`);
  Reflect.set(owner, name, function (this: unknown, ...args: unknown[]): unknown {
    action(this, args);
    return Reflect.apply(original, this, args);
  });
}

before(DatabaseSync.prototype, "exec", (_self, [sql]) => {
  const mode = /synchronous = (FULL|NORMAL)/.exec(String(sql))?.[1];
  if (mode !== undefined) isDurable = mode === "FULL";
});
before(DatabaseSync.prototype, "close", () => flush(FLUSHES_OF_CLOSING));
before(StatementSync.prototype, "run", (self) => {
  if ((isDurable || isFull) && self instanceof StatementSync && self.sourceSQL.startsWith("COMMIT")) flush(1);
});
