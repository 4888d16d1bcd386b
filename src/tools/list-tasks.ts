/** The tool `list_tasks`: requests and narrations of the ledger, and what was spent. */
import { z } from "zod";
import { RUNNING_STATUSES } from "../contract/audio-task.ts";
import { boundedIntegerSchema, formatThousands } from "../contract/numbers.ts";
import type { Spending } from "../ledger/bills.ts";
import type { ListedNarration } from "../narration/listed-narrations.ts";
import type { RequestListQuery } from "../requests/list-requests.ts";
import type { ListedStatus } from "../requests/request-view.ts";
import { createSearches, MAX_NARRATIONS_SEARCHED } from "../search-words.ts";
import { buildNarrationEntry, buildRequestEntry, renderListEntry } from "./list-entry.ts";
import { optional, stringSchema } from "./shared-fields.ts";
import { chooseNextWait, defineTool, type ToolDeps } from "./tool.ts";

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

/** Describes the spending in words and in figures. What running tasks hold comes back in part, so it is told apart. */
export function buildSpendingReport({ today, last7Days, last30Days, held, budget }: Spending) {
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
    ...tasks.map((task) => buildRequestEntry(task, waitSeconds)),
    ...narrations.map(buildNarrationEntry),
  ]
    .sort((a, b) => b.createdAtMs - a.createdAtMs)
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
    // All takes of one input have the same hash.
    const hashes = entries.flatMap(({ task }) =>
      task?.taskId == null || task.inputHash === null ? [] : [[task.taskId, task.inputHash] as const],
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
      text: [message, ...entries.map(renderListEntry)].join("\n"),
      meta: { requests: Object.fromEntries(hashes) },
    };
  },
});
