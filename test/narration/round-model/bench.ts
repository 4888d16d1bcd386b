/** The code under test with a ledger's file, two planned narrations that share a part, and what each scenario begins with. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Database } from "../../../src/ledger/database.ts";
import { sql } from "../../../src/ledger/kysely-driver.ts";
import { TABLE_NAMES } from "../../../src/ledger/schema.ts";
import type { NarrateChanges } from "../../../src/narration/narration-answers.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { paragraph } from "../narrator.ts";
import type { WorkflowCode } from "./code-under-test.ts";
import { LedgerReader, openObserved } from "./observed-ledger.ts";
import { ScriptedService } from "./scripted-service.ts";
import { SimulatedProcess, TIME_SCALE } from "./simulated-process.ts";

const TEXTS = [
  ["One", "Two", "Three", "Four"],
  ["Five", "Three", "Six"],
];
const CONNECTIONS = 3;

export const NO_CHANGES: NarrateChanges = {
  ...{
    maxCredits: null,
    shouldStop: false,
    retakes: [],
    shouldSkipFailed: null,
    mayReplace: false,
    fileName: null,
  },
};
export const callFor = (waitMs: number, signal = new AbortController().signal) => ({
  ...{ signal, waitMs, onProgress: () => undefined },
});

export interface Bench {
  readonly code: WorkflowCode;
  readonly databases: readonly Database[];
  readonly reader: LedgerReader;
  readonly narrations: readonly string[];
  /** The texts of all parts. */
  readonly prompts: readonly string[];
  readonly outputDir: string;
  readonly busy: { count: number };
  /** The clock of the running scenario. */
  readonly clock: ManualClock;
  /** What is called after each commit. */
  onCommit: () => void;
  /** Brings ledger and folder back to the two plans. */
  reset(): Promise<void>;
  close(): Promise<void>;
}

export async function openBench(code: WorkflowCode, folder: string): Promise<Bench> {
  const [stateDir, outputDir] = [join(folder, "state"), join(folder, "out")];
  const busy = { count: 0 };
  const newClock = (): ManualClock => new ManualClock(() => busy.count > 0);
  const current = { clock: newClock(), onCommit: (): void => undefined };
  const databases = Array.from({ length: CONNECTIONS }, () =>
    openObserved(code, stateDir, { steadyMs: () => current.clock.steadyMs() }, TIME_SCALE, () =>
      current.onCommit(),
    ),
  );
  const [database] = databases;
  if (database === undefined) throw new Error("there is no connection");
  const service = new ScriptedService(code, current.clock, []);
  const place = { code, clock: current.clock, service, database, outputDir, busy, onSubmit: () => undefined };
  const planner = await SimulatedProcess.start("planner", "key1", place);
  const { driver } = code.createRequests(planner.deps);
  const planning = new code.NarrationOperations({
    ...planner.deps,
    ...{ driver, captionFiles: "vtt", containsSecret: () => false },
  });
  const narrations: string[] = [];
  for (const names of TEXTS) {
    const view = await planning.narrate(
      {
        kind: "text",
        input: { text: names.map(paragraph).join("\n\n"), format: "plain" },
        options: { settings: { output_format: "pcm" }, voices: {}, pauseSeconds: 0.01, fileLayout: "one" },
      },
      NO_CHANGES,
      callFor(0),
    );
    narrations.push(view.narrationId);
  }
  const rows = new Map<string, Array<Record<string, unknown>>>();
  for (const table of TABLE_NAMES)
    rows.set(
      table,
      (
        await database.run((db) =>
          sql<Record<string, unknown>>`SELECT * FROM ${sql.table(table)}`.execute(db),
        )
      ).rows,
    );
  const prompts = [...new Set(TEXTS.flat())].map(paragraph);
  // Loads the modules that the scenarios use, because loading takes real time.
  for (const narrationId of narrations) {
    const source = { kind: "narration", narrationId } as const;
    const made = planning.narrate(source, { ...NO_CHANGES, maxCredits: 5000 }, callFor(600_000));
    const { status } = await current.clock.until(made);
    if (status !== "finished") throw new Error(`a narration without trouble is ${status}`);
  }
  planner.kill();
  const reader = new LedgerReader(join(stateDir, "ledger.sqlite"));
  return {
    ...{ code, databases, reader, narrations, prompts, outputDir, busy },
    get clock() {
      return current.clock;
    },
    get onCommit() {
      return current.onCommit;
    },
    set onCommit(listener) {
      current.onCommit = listener;
    },
    reset: async () => {
      current.clock = newClock();
      current.onCommit = () => undefined;
      rmSync(outputDir, { recursive: true, force: true });
      mkdirSync(outputDir, { mode: 0o700 });
      await database.tx(async (tx) => {
        for (const table of TABLE_NAMES) await sql`DELETE FROM ${sql.table(table)}`.execute(tx);
        for (const [table, all] of rows) {
          for (const row of all) {
            const [names, values] = [Object.keys(row), Object.values(row)];
            await sql`INSERT INTO ${sql.table(table)} (${sql.join(names.map((name) => sql.ref(name)))})
              VALUES (${sql.join(values)})`.execute(tx);
          }
        }
      });
    },
    close: async () => {
      for (const each of databases) await each.close();
      reader.close();
    },
  };
}
