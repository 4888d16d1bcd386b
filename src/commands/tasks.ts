/** The `tasks` command: the ledger for a person, or as JSON. It asks the service nothing. */
import { systemClock } from "../clock.ts";
import { readConfig } from "../config/config.ts";
import { AudioError } from "../errors.ts";
import { openOutputFolder } from "../files/output-folder.ts";
import { listTasks } from "../generation/use-cases/list-tasks.ts";
import { createHolderId } from "../holder.ts";
import { settlePlace } from "../ledger/machine-id.ts";
import { openLedger } from "../ledger/open-ledger.ts";
import { createLog } from "../log.ts";
import { type NarrationRow, nextStepOf, rowOf } from "../narration/list-row.ts";
import { NarrationBook } from "../narration/narration-book.ts";
import { createRedact } from "../redaction.ts";
import { taskRow } from "../tools/list-tasks.ts";
import { isoWithOffset } from "../tools/local-time.ts";
import { narrationRow } from "../tools/narration-row.ts";
import { printable, printableJson } from "./printable.ts";
import { configurationError, outputDirOf, secretsOf } from "./settings.ts";
import { CommandError } from "./usage.ts";

const MOST_TASKS = 100;

type Row = ReturnType<typeof taskRow>;

/** A task or a narration, for programs and for people. */
interface Entry {
  readonly atMs: number;
  readonly row: Record<string, unknown>;
  readonly words: string;
}

function describe(row: Row): string {
  const credits = row.credits === undefined ? "" : `, ${row.credits} credits`;
  const lines = [
    `${row.created_at.slice(0, 19).replace("T", " ")}  ${row.status}${credits}  ${row.task_id}`,
    `    ${JSON.stringify(row.prompt_excerpt)}`,
    row.audio_path === undefined ? `    next: ${row.next_step}` : `    ${row.audio_path}`,
  ];
  return lines.map(printable).join("\n");
}

function describeNarration(row: NarrationRow): string {
  const { narrationId, status, title, createdAtMs, credits, savedParts, totalParts, paths } = row;
  const date = isoWithOffset(createdAtMs).slice(0, 19).replace("T", " ");
  const lines = [
    `${date}  narration ${status}, ${savedParts} of ${totalParts} parts, ${credits} credits  ${narrationId}`,
    `    ${JSON.stringify(title)}`,
    ...(paths.length === 0 ? [`    next: ${nextStepOf(row)}`] : paths.map((path) => `    ${path}`)),
  ];
  return lines.map(printable).join("\n");
}

async function readEntries(): Promise<Entry[]> {
  const config = readConfig(process.env);
  if (config.service === null || config.faults.length > 0) throw configurationError(config);
  const redact = createRedact(secretsOf(process.env));
  const log = createLog(config.logLevel, redact);
  await settlePlace(config.stateDir);
  const folder = await openOutputFolder(outputDirOf(config), systemClock);
  const address = config.service;
  const ledger = await openLedger({ config, address, holder: createHolderId(), log, clock: systemClock });
  try {
    const listed = await listTasks({ ledger, folder }, { status: null, query: null, limit: MOST_TASKS });
    const entries = await new NarrationBook(ledger.store.narrations, () => systemClock.wallMs()).newest(
      MOST_TASKS,
    );
    const narrations = await Promise.all(entries.map((entry) => rowOf(entry, folder.root)));
    return [
      ...listed.map((task) => ({
        atMs: task.createdAtMs,
        row: taskRow(task),
        words: describe(taskRow(task)),
      })),
      ...narrations.map((row) => ({
        atMs: row.createdAtMs,
        row: narrationRow(row),
        words: describeNarration(row),
      })),
    ].sort((a, b) => b.atMs - a.atMs);
  } finally {
    await ledger.store.close();
  }
}

/** @throws CommandError when the settings or the store do not allow it */
export async function tasks(asJson: boolean): Promise<void> {
  try {
    const entries = await readEntries();
    const rows = entries.map(({ row }) => row);
    const human =
      rows.length === 0 ? "No requests recorded yet." : entries.map(({ words }) => words).join("\n");
    process.stdout.write(`${asJson ? printableJson({ tasks: rows, count: rows.length }) : human}\n`);
  } catch (error) {
    if (error instanceof AudioError) throw new CommandError(error.message);
    throw error;
  }
}
