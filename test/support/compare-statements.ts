/**
 * Compares what lists, tools and the `tasks` command say about credits, status and files with what the service has
 * charged, what the ledger knows and what is on disk. For a time in which nothing runs.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { z } from "zod";
import { chargeForSeconds, RESERVED_CREDITS } from "../../src/contract/billing.ts";
import { BIN, NODE } from "./bin-under-test.ts";
import type { FakeService, FakeTask } from "./fake-service.ts";
import type { LedgerAttempt, LedgerFile } from "./ledger-rows.ts";

const requestRow = z.looseObject({
  task_id: z.string(),
  status: z.string(),
  take: z.int().optional(),
  credits: z.number().optional(),
  audio_path: z.string().optional(),
  missing_path: z.string().optional(),
});
const narrationRow = z.looseObject({
  narration_id: z.string(),
  status: z.string(),
  parts: z.string(),
  credits: z.number().optional(),
  audio_paths: z.array(z.string()).default([]),
  missing_paths: z.array(z.string()).default([]),
});
export const listOutput = z.looseObject({
  spent: z.looseObject({
    today: z.number(),
    days_7: z.number(),
    days_30: z.number(),
    held: z.number().default(0),
  }),
  /** Rows of requests and of narrations. */
  tasks: z.array(z.looseObject({ status: z.string(), next_step: z.string() })),
});
const narrationAnswer = z.looseObject({
  status: z.string(),
  message: z.string(),
  parts: z.looseObject({ total: z.int(), saved: z.int() }),
  credits: z.looseObject({ charged: z.number(), reserved: z.number() }),
  files: z.array(z.looseObject({ path: z.string(), size_bytes: z.number() })),
});
const taskAnswer = z.looseObject({
  task_id: z.string(),
  status: z.string(),
  billing: z.looseObject({ charged_credits: z.number().optional() }).optional(),
  audio: z.looseObject({ path: z.string() }).optional(),
});

/** The files that a row of a list calls present, and those that it calls gone. */
function pathsOf(row: unknown): { audio_paths: string[]; missing_paths: string[] } {
  if (Object.hasOwn(Object(row), "narration_id")) return narrationRow.parse(row);
  const { audio_path, missing_path } = requestRow.parse(row);
  return { audio_paths: [audio_path ?? []].flat(), missing_paths: [missing_path ?? []].flat() };
}

/** An attempt, which two API keys may have sent, with what the ledger knows of its end. */
interface Payment {
  readonly task: FakeTask | undefined;
  readonly payers: ReadonlySet<string | null>;
  readonly charged: number;
  readonly held: number;
  /** Counted for sends of another API key whose answer nobody saw. */
  readonly inDoubt: number;
}

const ENDED: ReadonlySet<string> = new Set(["succeeded", "saved", "failed"]);

export const chargeOf = (service: FakeService, task: FakeTask): number =>
  task.status === "succeeded" ? chargeForSeconds(service.audioSeconds) : 0;

/** Joins the rows of one attempt. Charges are those of the service, not those of the rows. */
export function toPayments(service: FakeService, attempts: readonly LedgerAttempt[]): Payment[] {
  const groups = Map.groupBy(attempts, ({ fingerprint, n }) => `${fingerprint}#${n}`);
  return [...groups.values()].map((rows) => {
    const accepted = rows.filter(({ task_id }) => task_id !== null);
    const unanswered = rows.filter(({ spent, task_id }) => spent > 0 && task_id === null);
    const task = service.tasks.get(accepted[0]?.task_id ?? "");
    const isKnown = rows.some(({ status }) => ENDED.has(status));
    return {
      task,
      payers: new Set((accepted.length > 0 ? accepted : unanswered).map(({ payer }) => payer)),
      charged: isKnown && task !== undefined ? chargeOf(service, task) : 0,
      held: isKnown || (accepted.length === 0 && unanswered.length === 0) ? 0 : RESERVED_CREDITS,
      // The other API key may be one of another account (docs/reference-requests.md, Changing the API key).
      inDoubt: RESERVED_CREDITS * (accepted.length > 0 ? unanswered.length : 0),
    };
  });
}

const sumOf = (payments: readonly Payment[], what: "charged" | "held" | "inDoubt"): number =>
  payments.reduce((sum, payment) => sum + payment[what], 0);

export interface StatementSources {
  readonly service: FakeService;
  readonly attempts: readonly LedgerAttempt[];
  /** What the ledger knows of files; absent if no process was killed, which leaves files that it does not know. */
  readonly files?: readonly LedgerFile[];
  /** The settings of a server with this ledger. */
  readonly env: Readonly<Record<string, string>>;
  /** Calls a tool that spends nothing. Returns its structured content. */
  ask(name: string, args: Record<string, unknown>): Promise<unknown>;
}

/** Whether a file is one that the ledger knows, and not another one of that name. */
async function isSaved(path: string, files: readonly LedgerFile[] | undefined): Promise<boolean> {
  const sha256 = createHash("sha256")
    .update(await readFile(path))
    .digest("hex");
  return files?.some((file) => file.path === path && file.sha256 === sha256) ?? true;
}

/** Returns every false statement. */
export async function compareStatements(sources: StatementSources): Promise<string[]> {
  const { service, attempts, env, ask } = sources;
  const problems: string[] = [];
  const payments = toPayments(service, attempts);
  const same = (what: string, said: unknown, truth: unknown): void => {
    if (JSON.stringify(said) !== JSON.stringify(truth))
      problems.push(`${what}: said ${JSON.stringify(said)}, true is ${JSON.stringify(truth)}`);
  };
  for (const { task, payers } of payments)
    if (payers.size > 1) problems.push(`${task?.id} is paid by ${[...payers].join(" and ")}`);

  const listed = await ask("list_tasks", { limit: 100 });
  const { spent, tasks } = listOutput.parse(listed);
  // Before anything else is asked: a call that continues a narration joins a missing file again.
  const present = new Set(tasks.flatMap((row) => pathsOf(row).audio_paths));
  for (const path of present) if (!existsSync(path)) problems.push(`${path} is listed, and gone`);
  // Another narration may have taken the name of a file that was removed.
  for (const path of tasks.flatMap((row) => pathsOf(row).missing_paths))
    if (existsSync(path) && !present.has(path) && (await isSaved(path, sources.files)))
      problems.push(`${path} is not missing`);
  const total = sumOf(payments, "charged");
  const { today, days_7, days_30, held } = spent;
  same("spent", { today, days_7, days_30 }, { today: total, days_7: total, days_30: total });
  same("held", held, sumOf(payments, "held") + sumOf(payments, "inDoubt"));
  const command = await promisify(execFile)(NODE, [BIN, "tasks", "--json"], { env });
  same("tasks --json", Object(JSON.parse(command.stdout)).tasks, Object(listed).tasks);

  const compareFile = async (what: string, path: string | undefined, task: FakeTask): Promise<void> => {
    const bytes = path === undefined ? task.audio : await readFile(path).catch(() => Buffer.alloc(0));
    if (!bytes.equals(task.audio)) problems.push(`${what}: ${path} is not the audio of ${task.id}`);
  };
  for (const row of tasks) {
    if ("narration_id" in row) {
      const { narration_id: id, status, parts, credits, audio_paths } = narrationRow.parse(row);
      const own = payments.filter(({ payers }) => payers.has(id));
      const truth = { charged: sumOf(own, "charged"), reserved: sumOf(own, "held") };
      if (status !== "planned") same(`listed credits of ${id}`, credits, truth.charged);
      const now = narrationAnswer.parse(await ask("narrate", { narration_id: id, wait_seconds: 0 }));
      const { charged, reserved } = now.credits;
      same(`credits of ${id}`, { charged, reserved }, truth);
      same(`status of ${id}`, status, now.status);
      same(`parts of ${id}`, parts, `${now.parts.saved} of ${now.parts.total}`);
      same(
        `files of ${id}`,
        audio_paths,
        now.files.map(({ path }) => path),
      );
      const [, words] = /(?:, (?=[\d,]+ credits charged)|Cost )([\d,]+) credits/.exec(now.message) ?? [];
      if (words !== undefined && status !== "planned")
        same(`words of ${id}`, Number(words.replaceAll(",", "")), charged);
    } else {
      const { task_id: id, status, credits, audio_path } = requestRow.parse(row);
      const task = service.tasks.get(id);
      if (task === undefined) {
        if (!id.startsWith("req-")) problems.push(`the service does not know ${id}`);
        else same(`listed credits of ${id}`, credits, undefined);
        continue;
      }
      // What an earlier API key had open is not continued in the background, and the row says so.
      if (!(row.next_step.includes("earlier API key") && !ENDED.has(status))) {
        same(`listed status of ${id}`, status, task.status);
        same(`listed credits of ${id}`, credits, chargeOf(service, task));
      }
      await compareFile("list_tasks", audio_path, task);
      const now = taskAnswer.parse(await ask("get_task", { task_id: id, wait_seconds: 5 }));
      // A task that failed is answered with the one that was made in its place under another API key.
      const shown = service.tasks.get(now.task_id) ?? task;
      same(`status of ${id}`, now.status, shown.status);
      same(`charge of ${id}`, now.billing?.charged_credits, chargeOf(service, shown));
      await compareFile("get_task", now.audio?.path, shown);
    }
  }
  return problems;
}
