/** The ledger in a file of one machine: each method one transaction, and how durable each must be. */
import Keyv from "keyv";
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log.ts";
import { RECORD_KEYV_OPTIONS } from "../keyv-options.ts";
import type {
  Admission,
  AdmitRequest,
  Claim,
  ClaimAnswer,
  LedgerIdentity,
  LedgerStore,
  LimitClass,
  ListQuery,
  ReadAdmission,
  ReadRequest,
  Settlement,
  StoredValue,
  Write,
  WriteAnswer,
} from "../ledger-store.ts";
import type { NarrationStore } from "../narration-store.ts";
import { admitCreate, admitRead } from "./admission.ts";
import { LedgerDatabase, type Session } from "./database.ts";
import { KeyvSqlite } from "./keyv-sqlite.ts";
import { claim, type Now, releaseLease, renewLease } from "./leases.ts";
import { list, ofPath, ofTask, ofWork, otherOrigins } from "./lists.ts";
import { SqliteNarrations } from "./narrations.ts";
import { keyOf } from "./record-rows.ts";
import { noteAlive, pause, settleSlot } from "./slots.ts";
import { countedCredits } from "./spend-sums.ts";
import { folderWarnings } from "./state-folder.ts";
import { durabilityOf, writeRow } from "./writes.ts";

export interface SqliteStoreOptions {
  readonly stateDir: string;
  readonly log: Log;
  readonly clock: Clock;
  readonly identity: LedgerIdentity;
}

/** The ledger in `stateDir`; nothing is opened or created before its first use. */
export function openSqliteStore(options: SqliteStoreOptions): LedgerStore {
  return new SqliteStore(options);
}

/**
 * What money hangs on is on the disk before its method returns. Windows, leases and places in flight need only
 * survive processes: a machine that restarts has begun a new steady clock.
 */
class SqliteStore implements LedgerStore {
  readonly keyv: Keyv<unknown>;
  readonly narrations: NarrationStore;
  readonly description: string;
  readonly #stateDir: string;
  readonly #clock: Clock;
  readonly #identity: LedgerIdentity;
  readonly #database: LedgerDatabase;

  constructor({ stateDir, log, clock, identity }: SqliteStoreOptions) {
    this.#stateDir = stateDir;
    this.#clock = clock;
    this.#identity = identity;
    this.#database = new LedgerDatabase({ stateDir, log, clock });
    this.keyv = new Keyv<unknown>(
      new KeyvSqlite(this.#database, { clock, holder: identity.holder }),
      RECORD_KEYV_OPTIONS,
    );
    this.narrations = new SqliteNarrations({
      database: this.#database,
      origin: identity.origin,
      holder: identity.holder,
      steadyMs: () => clock.steadyMs(),
    });
    this.description = `SQLite file ${this.#database.file}`;
  }

  claim(request: Claim): Promise<ClaimAnswer> {
    // Nothing was sent for a waiting record: whoever finds it gone claims it anew.
    const durability = request.row.status === "waiting" ? "process_kill" : "power_cut";
    return this.#database.write((session) => claim(session, this.#now(), request), durability);
  }

  release(recordId: string): Promise<void> {
    const { accountId, holder } = this.#identity;
    return this.#timed((session) => releaseLease(session, holder, keyOf(accountId, recordId)));
  }

  write(request: Write): Promise<WriteAnswer> {
    return this.#database.write(
      (session) => writeRow(session, this.#now(), request),
      (session) => durabilityOf(session, request),
    );
  }

  admit(request: AdmitRequest): Promise<Admission> {
    return this.#database.write((session) => {
      const times = { steadyMs: this.#clock.steadyMs(), wallMs: this.#clock.wallMs() };
      return admitCreate(session, times, this.#identity, request);
    }, "power_cut");
  }

  spentCredits(windowMs: number): Promise<number> {
    const { origin } = this.#identity;
    return this.#database.read((session) =>
      countedCredits(session, this.#clock.wallMs(), { origin, windowMs }),
    );
  }

  settle(settlement: Settlement): Promise<void> {
    return this.#timed((session, { steadyMs }) => settleSlot(session, steadyMs, settlement));
  }

  admitRead(request: ReadRequest): Promise<ReadAdmission> {
    return this.#timed((session, { steadyMs }) => admitRead(session, steadyMs, this.#identity, request));
  }

  pause(limitClass: LimitClass, ms: number): Promise<void> {
    const { accountId } = this.#identity;
    return this.#timed((session, { steadyMs }) => pause(session, steadyMs, accountId, limitClass, ms));
  }

  signOfLife(recordIds: readonly string[]): Promise<string[]> {
    const { accountId, holder } = this.#identity;
    return this.#timed((session, now) => {
      noteAlive(session, now.steadyMs, holder);
      return recordIds.filter((recordId) => renewLease(session, now, keyOf(accountId, recordId)) === "lost");
    });
  }

  list(query: ListQuery): Promise<StoredValue[]> {
    return this.#database.snapshot((session) => list(session, this.#identity, query));
  }

  ofWork(workId: string): Promise<StoredValue[]> {
    return this.#database.read((session) => ofWork(session, this.#identity, workId));
  }

  ofTask(taskId: string): Promise<StoredValue[]> {
    return this.#database.read((session) => ofTask(session, this.#identity, taskId));
  }

  ofPath(path: string): Promise<StoredValue[]> {
    return this.#database.read((session) => ofPath(session, this.#identity, path));
  }

  otherOrigins(): Promise<string[]> {
    return this.#database.read((session) => otherOrigins(session, this.#identity.origin));
  }

  async check(): Promise<string[]> {
    await this.#timed((session) =>
      session.run(
        "INSERT INTO checks (name, count) VALUES ('writable', 1) ON CONFLICT (name) DO UPDATE SET count = count + 1",
      ),
    );
    return folderWarnings(this.#stateDir);
  }

  async close(): Promise<void> {
    this.#database.close();
  }

  #now(): Now {
    return { steadyMs: this.#clock.steadyMs(), holder: this.#identity.holder };
  }

  /** The time is read inside the transaction: no process can then see an entry that is newer than its own now. */
  #timed<T>(work: (session: Session, now: Now) => T): Promise<T> {
    return this.#database.write((session) => work(session, this.#now()), "process_kill");
  }
}
