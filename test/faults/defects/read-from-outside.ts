/** Reads and changes, for the tests of earlier defects, what is visible from outside: results, rows, ledger files. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { onTestFinished } from "vitest";
import { z } from "zod";
import { resultTextOf, type ToolOutcome } from "../../support/tool-result.ts";
import type { FaultSetup } from "../fault-setup.ts";
import type { RawServer } from "../raw-server.ts";

const taskRowSchema = z.looseObject({
  task_id: z.string().nullish(),
  status: z.string(),
  prompt_excerpt: z.string(),
  credits: z.number().nullish(),
  audio_path: z.string().nullish(),
  next_step: z.string(),
});
export type TaskRow = z.infer<typeof taskRowSchema>;

export function codeOf(outcome: ToolOutcome): string {
  if (outcome.isError !== true) throw new Error(`no error came back: ${resultTextOf(outcome)}`);
  return outcome._meta?.["audio-generation-mcp/error"]?.code ?? resultTextOf(outcome);
}

/** Returns the rows of `list_tasks`, newest first. */
export async function readTaskRows(server: RawServer): Promise<TaskRow[]> {
  const outcome = await server.call("list_tasks", { limit: 100 });
  if (outcome.isError === true) throw new Error(`list_tasks failed: ${resultTextOf(outcome)}`);
  return z.object({ tasks: z.array(taskRowSchema) }).parse(outcome.structuredContent).tasks;
}

export async function readOnlyTaskRow(server: RawServer): Promise<TaskRow> {
  const [first, ...others] = await readTaskRows(server);
  if (first === undefined || others.length > 0) {
    throw new Error(`not one row: ${JSON.stringify([first, ...others])}`);
  }
  return first;
}

/** Returns the request handle that a row without a task id contains in one of its fields. Throws if there is none. */
export function handleIn(row: TaskRow): string {
  const [handle] = /req-[0-9a-f]{32}/.exec(JSON.stringify(row)) ?? [];
  if (handle === undefined) throw new Error(`no handle in ${JSON.stringify(row)}`);
  return handle;
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits for something that happens in the background. */
export async function waitUntil<T>(
  description: string,
  probe: () => T | undefined | false | null | Promise<T | undefined | false | null>,
  withinMs = 60_000,
): Promise<T> {
  const giveUpAtMs = performance.now() + withinMs;
  for (;;) {
    const value = await probe();
    if (value !== undefined && value !== false && value !== null) return value;
    if (performance.now() > giveUpAtMs) throw new Error(`never came: ${description}`);
    await pause(10);
  }
}

/** Returns the names of complete files in the output folder. */
export async function listSavedNames({ testFolders }: FaultSetup): Promise<string[]> {
  return (await testFolders.outputNames()).filter((name) => !name.startsWith("."));
}

/** Waits for files that are saved in the background, although no call waits for them any more. */
export async function waitForSavedFiles(setup: FaultSetup, count = 1, withinMs = 60_000): Promise<string[]> {
  return await waitUntil(
    `${count} saved file(s)`,
    async () => {
      const names = await listSavedNames(setup);
      return names.length >= count && names;
    },
    withinMs,
  );
}

/** Waits until the service has answered this many requests of the kind. */
export async function waitForExchanges(
  setup: FaultSetup,
  kind: "create" | "query" | "content",
  count = 1,
): Promise<void> {
  await waitUntil(`${count} ${kind}`, () => setup.service.count(kind) >= count);
}

/** Opens the ledger file, so that the test can damage or lock it. */
export function ledgerFile({ testFolders }: FaultSetup): DatabaseSync {
  const file = join(testFolders.stateDir, "ledger.sqlite");
  if (!existsSync(file)) throw new Error("there is no ledger yet");
  const db = new DatabaseSync(file, { timeout: 5000 });
  onTestFinished(() => db.close());
  return db;
}

const named = z.array(z.object({ name: z.string() }));

const tablesOf = (db: DatabaseSync): string[] =>
  named
    .parse(db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all())
    .map(({ name }) => name);

/** Makes every write fail, like a full disk, until the returned function is called. */
export function fillUp(db: DatabaseSync): () => void {
  const names: string[] = [];
  for (const table of tablesOf(db).filter((name) => !name.startsWith("sqlite_"))) {
    for (const change of ["INSERT", "UPDATE", "DELETE"]) {
      const name = `full_${table}_${change}`;
      names.push(name);
      db.exec(
        `CREATE TRIGGER ${name} BEFORE ${change} ON ${table} BEGIN SELECT RAISE(ABORT, 'no room'); END`,
      );
    }
  }
  return () => {
    for (const name of names) db.exec(`DROP TRIGGER ${name}`);
  };
}
