/** Preloaded into the server: every commit and closing of the ledger (or TEST_COMMITS of them) blocks the process for TEST_COMMIT_MS, as a disk with slow flushes does. */
import { DatabaseSync, StatementSync } from "node:sqlite";

const ms = Number(process.env["TEST_COMMIT_MS"] ?? "0");
let left = Number(process.env["TEST_COMMITS"] ?? "Infinity");

function block(): void {
  if (left <= 0) return;
  left -= 1;
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function slow(owner: object, name: string, isSlow: (self: unknown, args: unknown[]) => boolean): void {
  const original: unknown = Reflect.get(owner, name);
  if (typeof original !== "function") throw new Error(`there is no ${name}`);
  Reflect.set(owner, name, function (this: unknown, ...args: unknown[]): unknown {
    if (isSlow(this, args)) block();
    return Reflect.apply(original, this, args);
  });
}

slow(DatabaseSync.prototype, "close", () => true);
slow(
  StatementSync.prototype,
  "run",
  (self) => self instanceof StatementSync && self.sourceSQL.startsWith("COMMIT"),
);
