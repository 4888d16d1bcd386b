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
import { createRedact } from "../redaction.ts";
import { taskRow } from "../tools/list-tasks.ts";
import { configurationError, outputDirOf, secretsOf } from "./settings.ts";
import { CommandError } from "./usage.ts";

const MOST_TASKS = 100;

type Row = ReturnType<typeof taskRow>;

/** Controls, also those above ASCII, and whatever turns or hides text; the joiners that scripts and emoji need stay. */
const UNSEEN = /[[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]--[\u200c\u200d]]/gv;

/** Text of anybody as a terminal may show it: what could move the cursor or turn the line is spelled out. */
function printable(text: string): string {
  return text.replace(UNSEEN, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

/** JSON that means the same and holds nothing that a terminal would act on. */
function printableJson(value: unknown): string {
  const spell = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  // By code units, as JSON has it; the line breaks between its own lines stay.
  return JSON.stringify(value, null, 2).replace(/[^\P{C}\n]|[\u2028\u2029]/gu, (character) =>
    character.split("").map(spell).join(""),
  );
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

async function readRows(): Promise<Row[]> {
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
    return listed.map(taskRow);
  } finally {
    await ledger.store.close();
  }
}

/** @throws CommandError when the settings or the store do not allow it */
export async function tasks(asJson: boolean): Promise<void> {
  try {
    const rows = await readRows();
    const human = rows.length === 0 ? "No requests recorded yet." : rows.map(describe).join("\n");
    process.stdout.write(`${asJson ? printableJson({ tasks: rows, count: rows.length }) : human}\n`);
  } catch (error) {
    if (error instanceof AudioError) throw new CommandError(error.message);
    throw error;
  }
}
