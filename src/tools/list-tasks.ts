/** The tool `list_tasks`: requests and narrations of the ledger, and what was spent. */

import { z } from "zod";
import { RUNNING_STATUSES } from "../contract/audio-task.ts";
import { boundedIntegerSchema, formatThousands, roundToMilliseconds } from "../contract/numbers.ts";
import type { Spending } from "../ledger/bills.ts";
import type { ListedNarration } from "../narration/listed-narrations.ts";
import type { ListedRequest, RequestListQuery } from "../requests/list-requests.ts";
import type { ListedStatus } from "../requests/listed-status.ts";
import { createSearches, MAX_NARRATIONS_SEARCHED } from "../search-words.ts";
import { formatIsoWithOffset, formatLocalDateTime } from "./local-time.ts";
import { buildNarrationRow, listCredits, renderNarrationLine } from "./narration-row.ts";
import { optional, stringSchema } from "./shared-fields.ts";
import { omitNullish } from "./task-output.ts";
import { chooseNextWait, defineTool, type ToolDeps, USUAL_WAIT_SECONDS } from "./tool.ts";

const DEFAULT_LIMIT = 20;

/**
 * The published schema of the rows. It names no fields, because a published schema costs tokens in every conversation.
 */
const rows = z.array(z.record(z.string(), z.unknown()));

const output = z.strictObject({
  message: z.string(),
  spent: z.strictObject({
    today: z.number(),
    days_7: z.number(),
    days_30: z.number(),
    held: z.number().optional(),
    budget_left: z.number().optional(),
  }),
  tasks: rows,
  count: z.int(),
});

const NOTHING_TO_DO = "None; it is saved.";

function describeRequestNextStep(task: ListedRequest, waitSeconds: number): string {
  const { taskId, handle } = task;
  if (task.isGone) {
    return `The service did not know it any more. get_task with task_id ${taskId} asks once more, free; only another take would make it again, for credits.`;
  }
  if (task.audioPath === null && task.wrongFormatPath !== null) {
    return `Its bytes are no audio; they are kept as ${task.wrongFormatPath}. download_audio with task_id ${taskId} looks whether the service has other ones by now (free).`;
  }
  if (task.isTooLarge && task.audioPath === null) {
    return `Its audio is larger than this server takes, and stays at the service. download_audio with task_id ${taskId} says how to fetch it (free).`;
  }
  if (task.isOtherKey && task.audioPath === null && task.status !== "failed") {
    return describeNextStepOfOtherKey(task, waitSeconds);
  }
  if (task.activity !== null) {
    return `Not accepted yet. ${task.activity} get_task with task_id ${handle} and wait_seconds ${waitSeconds} waits for the file.`;
  }
  switch (task.status) {
    case "waiting":
      if (task.refusal !== null) {
        return `Refused (${task.refusal.code}): ${task.refusal.message} Nothing was charged. When that is fixed, repeat the same generate_audio call.`;
      }
      return "Never sent; nothing is working on it. Repeat the same generate_audio call.";
    case "unresolved":
      return `Sent, not known to be accepted. download_audio with task_id ${handle} sends the very same request again under its key and saves the audio; it never pays twice.`;
    case "queued":
    case "processing":
      return `get_task with task_id ${taskId} and wait_seconds ${waitSeconds}.`;
    case "succeeded":
      return task.audioPath === null ? `download_audio with task_id ${taskId} (free).` : NOTHING_TO_DO;
    case "failed":
      if (task.isTextRefused)
        return "Refunded. The same text would be refused again; generate_audio with other words is a new task.";
      return task.credits === 0
        ? "Refunded. Repeat the same generate_audio call to try again."
        : "It failed, and may have been charged all the same. The same generate_audio call makes a fresh, paid attempt: ask the user first.";
  }
}

/**
 * Returns the next step for a request of another API key. If the task id is known, suggests a call with the task id.
 * Such a call is free, whichever account owns the task.
 */
function describeNextStepOfOtherKey({ status, taskId }: ListedRequest, waitSeconds: number): string {
  switch (status) {
    case "waiting":
      return "Asked for under an earlier API key, not sent yet. The same generate_audio call makes it with this one.";
    case "unresolved":
      return "Sent under an earlier API key, answer unseen. The same generate_audio call fetches it, free, if both keys are of one account; else it makes a new task and may cost credits: ask the user first.";
    case "succeeded":
      return `Sent under an earlier API key. download_audio with task_id ${taskId} fetches it with this one (free).`;
    default:
      return `Sent under an earlier API key. get_task with task_id ${taskId} and wait_seconds ${waitSeconds} fetches it with this one (free).`;
  }
}

/**
 * Builds the row of a task for `list_tasks` and the `tasks` command; omits empty fields.
 *
 * @param waitSeconds the wait that the next step names
 */
export const buildTaskRow = (task: ListedRequest, waitSeconds = USUAL_WAIT_SECONDS) => ({
  task_id: task.taskId ?? task.handle,
  status: task.status,
  prompt_excerpt: task.promptExcerpt ?? "",
  ...omitNullish({ voice: task.voice, take: task.take }),
  created_at: formatIsoWithOffset(task.createdAtMs),
  ...omitNullish({
    credits: task.credits,
    held_credits: task.heldCredits === 0 ? null : task.heldCredits,
    audio_seconds: task.audioSeconds === null ? null : roundToMilliseconds(task.audioSeconds),
    audio_path: task.audioPath,
    missing_path: task.missingPath,
    replaced_by: task.replacedBy,
  }),
  next_step: describeRequestNextStep(task, waitSeconds),
});

/** Renders the whole row as text, for clients that show only the text. */
function renderLine(task: ListedRequest, waitSeconds: number): string {
  const row = buildTaskRow(task, waitSeconds);
  const facts = [
    row.status,
    formatLocalDateTime(task.createdAtMs),
    ...listCredits(row),
    ...(row.audio_seconds === undefined ? [] : [`${row.audio_seconds} s`]),
    ...(row.voice === undefined ? [] : [`voice: ${row.voice}`]),
    ...(row.take === undefined || row.take === 1 ? [] : [`take ${row.take}`]),
  ];
  const replaced = row.replaced_by === undefined ? "" : ` (file replaced by that of ${row.replaced_by})`;
  const gone = row.missing_path === undefined ? replaced : ` (file gone: ${row.missing_path})`;
  const file = row.audio_path === undefined ? gone : ` ${row.audio_path}`;
  const next = row.next_step === NOTHING_TO_DO ? "" : ` Next: ${row.next_step}`;
  return `${row.task_id}: ${facts.join(", ")}. ${JSON.stringify(row.prompt_excerpt)}${file}${next}`;
}

/** Describes the spending in words and in figures. What running tasks hold comes back in part, so it is told apart. */
function buildSpendingReport({ today, last7Days, last30Days, held, budget }: Spending) {
  const budgetLeft =
    budget === null
      ? ""
      : `; the budget of ${formatThousands(budget.credits)} in any 24 hours leaves ${formatThousands(budget.leftCredits)}`;
  const heldNote =
    held === 0 ? "" : `; up to ${formatThousands(held)} more are held by tasks that have not ended`;
  const isNothing = last30Days === 0 && held === 0 && budget === null;
  const sentence = isNothing
    ? ""
    : `Spent: ${formatThousands(today)} credits today, ${formatThousands(last7Days)} in 7 days, ${formatThousands(last30Days)} in 30 days${heldNote}${budgetLeft}.`;
  return {
    words: sentence,
    figures: {
      today,
      days_7: last7Days,
      days_30: last30Days,
      ...(held === 0 ? {} : { held }),
      ...(budget === null ? {} : { budget_left: budget.leftCredits }),
    },
  };
}

function describeCount(count: number, isFiltered: boolean): string {
  if (count > 0) return `${count} ${count === 1 ? "request" : "requests"}, newest first.`;
  return isFiltered
    ? "No such requests; list_tasks without arguments shows all."
    : "No requests recorded yet.";
}

/** The statuses of tasks and of narrations that a filter matches. */
type Filter = readonly [tasks: readonly ListedStatus[], narrations: readonly ListedNarration["status"][]];

/**
 * Maps each value of the filter to the statuses that match. `succeeded` and `finished` each match succeeded tasks and
 * finished narrations, because tasks and narrations use different words for this status.
 */
const STATUS_FILTERS = {
  // `waiting` also matches `unresolved`, because all other tools report a request without a response as waiting.
  waiting: [["waiting", "unresolved"], []],
  unresolved: [["unresolved"], []],
  queued: [["queued"], []],
  processing: [["processing"], ["running"]],
  succeeded: [["succeeded"], ["finished"]],
  failed: [["failed"], []],
  planned: [[], ["planned"]],
  running: [RUNNING_STATUSES, ["running"]],
  stopped: [[], ["stopped"]],
  finished: [["succeeded"], ["finished"]],
} as const satisfies Readonly<Record<ListedStatus | ListedNarration["status"], Filter>>;

// The cast is needed, because `Object.keys` returns plain strings.
const FILTERED_STATUSES = Object.keys(STATUS_FILTERS) as (keyof typeof STATUS_FILTERS)[];

/** Lists requests and narrations together, newest first. */
async function listEntries(
  deps: Pick<ToolDeps, "requests" | "narrations" | "defaultWaitSeconds">,
  { filter, search, limit }: Pick<RequestListQuery, "search" | "limit"> & { readonly filter: Filter | null },
) {
  const waitSeconds = chooseNextWait(undefined, deps);
  const requests = await deps.requests();
  const statuses = filter === null ? [null] : filter[0];
  const lists = statuses.map((status) => requests.listRequests({ status, search, limit }));
  const tasks = (await Promise.all(lists)).flat();
  // A narration's status is known only after the narration was read. With a filter, read more narrations than are
  // shown, because the filter drops the narrations with other statuses.
  const maxNarrations = filter === null ? limit : MAX_NARRATIONS_SEARCHED;
  const listed = await (await deps.narrations()).list(search, maxNarrations);
  const narrations = listed.filter(({ status }) => filter === null || filter[1].includes(status));
  return [
    ...tasks.map((task) => ({
      atMs: task.createdAtMs,
      row: buildTaskRow(task, waitSeconds),
      line: renderLine(task, waitSeconds),
      // All takes of one input have the same hash.
      inputHash: [task.taskId, task.inputHash] as const,
    })),
    ...narrations.map((narration) => ({
      atMs: narration.narration.created_at_ms,
      row: buildNarrationRow(narration),
      line: renderNarrationLine(narration),
      inputHash: [null, null] as const,
    })),
  ]
    .sort((a, b) => b.atMs - a.atMs)
    .slice(0, limit);
}

export const listTasksTool = defineTool({
  name: "list_tasks",
  title: "List tasks",
  description:
    "Requests and narrations, newest first: status, date, credits, length, file, next step; what was spent. Finds a lost task_id or file. Free.",
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  input: z.strictObject({
    status: optional(
      z.enum(FILTERED_STATUSES, `must be one of ${FILTERED_STATUSES.join(", ")}`),
      FILTERED_STATUSES.join(", "),
    ),
    query: optional(
      stringSchema.max(200, "must be at most 200 characters"),
      "Words of text or file name, in any order",
    ),
    limit: optional(boundedIntegerSchema(1, 100), "1 to 100, default 20"),
  }),
  output,
  async run({ status, query, limit }, deps) {
    const queryText = query?.trim() ?? "";
    const searches = queryText === "" ? [null] : createSearches(queryText);
    const filter = status === undefined ? null : STATUS_FILTERS[status];
    let entries: Awaited<ReturnType<typeof listEntries>> = [];
    let strictness = 0;
    for (const [index, search] of searches.entries()) {
      entries = await listEntries(deps, { filter, search, limit: limit ?? DEFAULT_LIMIT });
      strictness = index;
      if (entries.length > 0) break;
    }
    const hashes = entries.flatMap(({ inputHash: [id, hash] }) =>
      id === null || hash === null ? [] : [[id, hash] as const],
    );
    const spending = buildSpendingReport(await (await deps.requests()).sumSpending());
    const isPartial = entries.length > 0 && strictness === searches.length - 1 && searches.length > 1;
    const partly = isPartial ? "None has all of these words; these have some. " : "";
    const countSentence = partly + describeCount(entries.length, status !== undefined || queryText !== "");
    const message = spending.words === "" ? countSentence : `${countSentence} ${spending.words}`;
    return {
      structured: {
        message,
        spent: spending.figures,
        tasks: entries.map(({ row }) => row),
        count: entries.length,
      },
      text: [message, ...entries.map((entry) => entry.line)].join("\n"),
      meta: { requests: Object.fromEntries(hashes) },
    };
  },
});
