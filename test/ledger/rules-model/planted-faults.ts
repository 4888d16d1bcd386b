/** Faults that the model must find. Each fault acts between the store and a correct engine. */
import { type ApiKeyState, parseApiKeyState } from "../../../src/ledger/rules/api-key-state.ts";
import {
  type Rows,
  type SqlEngine,
  type Statement,
  sql,
  type Transaction,
  type TransactionReads,
} from "../../../src/ledger/store/sql-engine.ts";
import type { Rule } from "./ledger-oracle.ts";
import type { ScenarioClock, ScenarioOptions } from "./ledger-scenario.ts";

export interface PlantedFault {
  readonly name: string;
  /** The first violation that a scenario finds must be of one of these rules. */
  readonly rules: readonly Rule[];
  plant(correctEngine: SqlEngine, clock: ScenarioClock): ScenarioOptions;
}

interface EngineFaults {
  /** Replaces the statements by which a transaction loads rows. */
  readonly asks?: (transaction: Transaction<unknown>) => readonly Statement[];
  /** Changes the rows that the store gets. */
  readonly sees?: (facts: TransactionReads, transaction: Transaction<unknown>) => TransactionReads;
  /** Changes the statements by which a transaction writes. */
  readonly saves?: (
    save: readonly Statement[],
    facts: TransactionReads,
    transaction: Transaction<unknown>,
  ) => readonly Statement[];
}

const SLOTS_CONDITION = "concurrency_slot_state IS NOT NULL";
const SUM = "sum(credits)";
const RECORD = "SELECT * FROM agm_records";
const STATE = "UPDATE agm_api_keys SET state";
const SLOT_DATE_UPDATE = "UPDATE agm_records SET concurrency_slot_since_steady_ms";

const isAdmission = ({ loadStatements }: Transaction<unknown>): boolean =>
  loadStatements.some(({ sql: text }) => text.includes(SLOTS_CONDITION));

function withFaults(correctEngine: SqlEngine, { asks, sees, saves }: EngineFaults): SqlEngine {
  return {
    forUpdate: correctEngine.forUpdate,
    description: correctEngine.description,
    get outage() {
      return correctEngine.outage;
    },
    read: (statements) => correctEngine.read(statements),
    check: () => correctEngine.check(),
    close: () => correctEngine.close(),
    transact: (transaction) =>
      correctEngine.transact({
        ...transaction,
        loadStatements: asks?.(transaction) ?? transaction.loadStatements,
        decide: (facts) => {
          const { result, saveStatements } = transaction.decide(sees?.(facts, transaction) ?? facts);
          return { result, saveStatements: saves?.(saveStatements, facts, transaction) ?? saveStatements };
        },
      }),
  };
}

const fault = (name: string, rules: readonly Rule[], faults: EngineFaults): PlantedFault => ({
  name,
  rules,
  plant: (correctEngine, clock) => ({ correctEngine, clock, engine: withFaults(correctEngine, faults) }),
});

/** Changes the rows that were loaded by statements that contain `text`. */
function withRows(
  facts: TransactionReads,
  { loadStatements }: Transaction<unknown>,
  text: string,
  change: (row: object) => object | null,
): TransactionReads {
  const changed = (rows: Rows): Rows =>
    rows.flatMap((row) => (typeof row === "object" && row !== null ? (change(row) ?? []) : []));
  const loaded = facts.loaded.map((rows, at) =>
    loadStatements[at]?.sql.includes(text) === true ? changed(rows) : rows,
  );
  return { ...facts, loaded };
}

function stateOf({ locked }: TransactionReads): ApiKeyState {
  const row = locked.at(-1)?.[0];
  const text = typeof row === "object" && row !== null && "state" in row ? String(row.state) : "";
  return parseApiKeyState(text, Number.POSITIVE_INFINITY);
}

function withState(facts: TransactionReads, change: (state: ApiKeyState) => ApiKeyState): TransactionReads {
  const last = facts.locked.at(-1)?.[0];
  if (last === undefined) return facts;
  return {
    ...facts,
    locked: [...facts.locked.slice(0, -1), [{ state: JSON.stringify(change(stateOf(facts))) }]],
  };
}

function savingState(
  saveStatements: readonly Statement[],
  change: (state: ApiKeyState) => ApiKeyState,
): Statement[] {
  return saveStatements.map((statement) => {
    const [text, ...names] = statement.values;
    if (!statement.sql.startsWith(STATE)) return statement;
    const state = change(parseApiKeyState(String(text), Number.POSITIVE_INFINITY));
    return sql(statement.sql, JSON.stringify(state), ...names);
  });
}

const without = (saveStatements: readonly Statement[], text: string): Statement[] =>
  saveStatements.filter((statement) => !statement.sql.startsWith(text));

type RateSlot = ApiKeyState["rateSlots"][number];

/** Changes the rate slots whose submission ends in the transaction. */
const whenReleased = (
  change: (before: RateSlot, after: RateSlot | undefined) => RateSlot | null,
): EngineFaults => ({
  saves: (saveStatements, facts, transaction) => {
    if (isAdmission(transaction)) return saveStatements;
    const before = stateOf(facts).rateSlots.filter(({ isPending }) => isPending);
    return savingState(saveStatements, (state) => {
      const kept = state.rateSlots.filter(
        ({ sendId, isPending }) => isPending || !before.some((rateSlot) => rateSlot.sendId === sendId),
      );
      const released = before.filter((rateSlot) => !kept.some(({ sendId }) => sendId === rateSlot.sendId));
      const changed = released.flatMap((rateSlot) => {
        const after = state.rateSlots.find(({ sendId }) => sendId === rateSlot.sendId);
        return change(rateSlot, after) ?? [];
      });
      return { ...state, rateSlots: [...kept, ...changed] };
    });
  },
});

export const plantedFaults: readonly PlantedFault[] = [
  fault("the state's update of an admission is lost", ["rate", "repeat"], {
    saves: (saveStatements, _facts, transaction) =>
      isAdmission(transaction) ? without(saveStatements, STATE) : saveStatements,
  }),
  fault("concurrency slots are hidden", ["concurrency"], {
    sees: (facts, transaction) => withRows(facts, transaction, SLOTS_CONDITION, () => null),
  }),
  fault("the sum is always zero", ["budget"], {
    sees: (facts, transaction) => withRows(facts, transaction, SUM, () => ({ credits: 0 })),
  }),
  fault("only the key's own records count for the budget", ["budget", "sums"], {
    asks: ({ loadStatements, locks }) =>
      loadStatements.map((statement) =>
        statement.sql.includes(SUM)
          ? sql(
              "SELECT sum(spend_credits) AS credits FROM agm_records WHERE api_key_id = ? AND spend_bucket > ?",
              locks.at(-1)?.values[0] ?? null,
              statement.values[1] ?? null,
            )
          : statement,
      ),
  }),
  fault("nothing is subtracted from sums", ["sums"], {
    saves: (saveStatements) => without(saveStatements, "UPDATE agm_spend"),
  }),
  fault("leases are dropped", ["lease"], {
    sees: (facts, transaction) =>
      withRows(facts, transaction, RECORD, (row) => ({ ...row, lease_owner: null })),
  }),
  fault("leases never expire", ["wait"], {
    sees: (facts, transaction) =>
      withRows(facts, transaction, RECORD, (row) =>
        "lease_renewed_steady_ms" in row && row.lease_renewed_steady_ms !== null
          ? { ...row, lease_renewed_steady_ms: facts.steadyMs }
          : row,
      ),
  }),
  {
    name: "the revision is ignored",
    rules: ["revision"],
    plant: (correctEngine, clock) => ({
      correctEngine,
      clock,
      engine: withFaults(correctEngine, {
        sees: (facts, transaction) => {
          // Makes the record seem to have the expected revision.
          if (!isAdmission(transaction)) return facts;
          const seeing = (revision: number): TransactionReads =>
            withRows(facts, transaction, RECORD, (row) => ({ ...row, revision }));
          const isStale = (seen: TransactionReads): boolean =>
            /"kind":"conflict".*"isLeaseLost":false/.test(
              JSON.stringify(transaction.decide(seen).result) ?? "",
            );
          const revisions = Array.from({ length: 300 }, (_, revision) => revision);
          const fitting = isStale(facts)
            ? revisions.find((revision) => !isStale(seeing(revision)))
            : undefined;
          return fitting === undefined ? facts : seeing(fitting);
        },
      }),
    }),
  },
  fault("the window is five seconds short", ["rate"], {
    sees: (facts, transaction) =>
      isAdmission(transaction)
        ? withState(facts, (state) => ({
            ...state,
            rateSlots: state.rateSlots.map((rateSlot) => ({
              ...rateSlot,
              changedSteadyMs: rateSlot.changedSteadyMs - 5_000,
            })),
          }))
        : facts,
  }),
  fault(
    "a rate slot counts from its admission instead of its answer",
    ["rate"],
    whenReleased((before, after) =>
      after === undefined ? null : { ...after, changedSteadyMs: before.changedSteadyMs },
    ),
  ),
  fault(
    "an answered rate slot is given back",
    ["rate"],
    whenReleased(() => null),
  ),
  fault(
    "an unsent rate slot counts",
    ["wait"],
    whenReleased((before, after) => after ?? { ...before, isPending: false }),
  ),
  fault("heartbeats are forgotten", ["rate", "concurrency", "repeat"], {
    saves: (saveStatements) =>
      savingState(saveStatements, (state) => ({ ...state, heartbeatSteadyMsByProcess: {} })),
  }),
  fault("heartbeats keep rate slots and no concurrency slots", ["concurrency"], {
    sees: (facts, transaction) =>
      isAdmission(transaction)
        ? withState(facts, ({ cooldown, rateSlots, heartbeatSteadyMsByProcess: heartbeats }) => ({
            cooldown,
            rateSlots: rateSlots.map((rateSlot) => {
              const seenMs = rateSlot.isPending
                ? (heartbeats[rateSlot.owner] ?? rateSlot.changedSteadyMs)
                : rateSlot.changedSteadyMs;
              return { ...rateSlot, changedSteadyMs: Math.max(rateSlot.changedSteadyMs, seenMs) };
            }),
            heartbeatSteadyMsByProcess: {},
          }))
        : facts,
  }),
  fault("heartbeats keep concurrency slots and no rate slots", ["rate", "repeat"], {
    sees: (facts, transaction) =>
      isAdmission(transaction)
        ? withState(facts, (state) => ({
            ...state,
            rateSlots: state.rateSlots.map((rateSlot) => ({ ...rateSlot, owner: "nobody" })),
          }))
        : facts,
  }),
  fault("a cooldown is forgotten", ["cooldown"], {
    sees: (facts, transaction) =>
      isAdmission(transaction) ? withState(facts, (state) => ({ ...state, cooldown: null })) : facts,
  }),
  fault("a shorter cooldown replaces a longer one", ["cooldown"], {
    sees: (facts, transaction) =>
      transaction.loadStatements.length === 0
        ? withState(facts, (state) => ({ ...state, cooldown: null }))
        : facts,
  }),
  {
    name: "the clock runs ahead in every third transaction",
    rules: ["rate", "concurrency", "cooldown", "lease", "wait"],
    plant: (correctEngine, clock) => {
      let transactions = 0;
      const sees = (facts: TransactionReads): TransactionReads => {
        transactions += 1;
        return { ...facts, steadyMs: facts.steadyMs + (transactions % 3 === 0 ? 10_000 : 0) };
      };
      return { correctEngine, clock, engine: withFaults(correctEngine, { sees }) };
    },
  },
  fault("a committed admission is not recognised", ["repeat"], {
    sees: (facts, transaction) =>
      isAdmission(transaction)
        ? withState(facts, (state) => ({
            ...state,
            rateSlots: state.rateSlots.map((rateSlot) => ({
              ...rateSlot,
              sendId: `another ${rateSlot.sendId}`,
            })),
          }))
        : facts,
  }),
  fault("the concurrency slot of a task that has ended stays", ["wait"], {
    saves: (saveStatements) =>
      saveStatements.map((statement) => {
        const status = statement.values[3];
        if (!statement.sql.startsWith("INSERT INTO agm_records") || status !== "failed") return statement;
        const values = statement.values.map((value, at) => (at === 8 ? "accepted" : value));
        return sql(statement.sql, ...values);
      }),
  }),
  fault("concurrency slots from before a restart stay in the future", ["wait"], {
    saves: (saveStatements) => without(saveStatements, SLOT_DATE_UPDATE),
  }),
];
