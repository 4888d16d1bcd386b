/** Owns the `tasks` command: the ledger for a person, or as JSON; asks the service nothing. */
import { systemClock } from "../clock.ts";
import { readConfig } from "../config.ts";
import { AudioError } from "../errors.ts";
import { openOutputFolder } from "../files/output-folder.ts";
import { listTasks } from "../generation/use-cases/list-tasks.ts";
import { createHolderId } from "../holder.ts";
import { openLedger } from "../ledger/open-ledger.ts";
import { createLog } from "../log.ts";
import { createRedact } from "../redaction.ts";
import { taskRow } from "../tools/list-tasks.ts";
import { configurationError, secretsOf } from "./settings.ts";
import { CommandError } from "./usage.ts";

const MOST_TASKS = 100;

type Row = ReturnType<typeof taskRow>;

function describe(row: Row): string {
  const credits = row.credits === null ? "" : `, ${row.credits} credits`;
  const lines = [
    `${row.created_at.slice(0, 19).replace("T", " ")}  ${row.status}${credits}  ${row.task_id ?? "(no id yet)"}`,
    `    ${JSON.stringify(row.prompt_excerpt)}`,
    row.audio_path === null ? `    next: ${row.next_step}` : `    ${row.audio_path}`,
  ];
  return lines.join("\n");
}

async function readRows(): Promise<Row[]> {
  const config = readConfig(process.env);
  if (config.service === null || config.faults.length > 0) throw configurationError(config);
  const redact = createRedact(secretsOf(process.env));
  const log = createLog(config.logLevel, redact);
  const folder = await openOutputFolder(config.outputDir, systemClock);
  const address = config.service;
  const ledger = await openLedger({ config, address, holder: createHolderId(), log, clock: systemClock });
  try {
    const listed = await listTasks({ ledger, folder }, { status: null, limit: MOST_TASKS });
    return listed.map(taskRow);
  } finally {
    await ledger.store.close();
  }
}

/** @throws CommandError when the settings or the store do not allow it */
export async function tasks(asJson: boolean): Promise<void> {
  try {
    const rows = await readRows();
    const human = rows.length === 0 ? "The ledger is empty." : rows.map(describe).join("\n");
    process.stdout.write(
      `${asJson ? JSON.stringify({ tasks: rows, count: rows.length }, null, 2) : human}\n`,
    );
  } catch (error) {
    if (error instanceof AudioError) throw new CommandError(error.message);
    throw error;
  }
}
