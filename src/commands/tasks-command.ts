/** The `tasks` command: lists the ledger as text, as JSON, or as a web page. Does not ask the service. */
import { systemClock } from "../clock.ts";
import { requireOutputDir } from "../config/config.ts";
import { wordFor } from "../errors.ts";
import { openOutputFolder } from "../files/output-folder.ts";
import { writeGeneratedPage } from "../files/write-generated-page.ts";
import { listOtherBaseUrls, listRequestCharges, readSpending } from "../ledger/bills.ts";
import { listNarrations } from "../narration/listed-narrations.ts";
import { PlanDocuments } from "../narration/plan-documents.ts";
import { listRecordedRequests } from "../requests/list-requests.ts";
import { parseStoredInput } from "../requests/stored-input.ts";
import {
  buildNarrationEntry,
  buildRequestEntry,
  formatIsoWithOffset,
  formatLocalTime,
  type ListEntry,
  listPartsAndCredits,
} from "../tools/list-entry.ts";
import { buildSpendingReport } from "../tools/list-tasks.ts";
import { type CommandContext, runWithWorkflow } from "./run-with-workflow.ts";
import { type Charge, type PageEntry, renderAudioPage, TASKS_MARKER } from "./tasks-page.ts";
import { escapeForTerminal, renderTerminalJson } from "./terminal-messages.ts";

const MAX_TASKS = 100;

/**
 * Maximum number of entries on the page. It is higher than in a terminal, because a page can be scrolled and searched.
 */
const MAX_TASKS_ON_PAGE = 2000;

/** An entry of the list, with what its requests were charged. */
interface Entry extends ListEntry {
  readonly charges: readonly Charge[];
}

/** A person looks for what needs attention, so a refused request does not read as one that waits. */
const describeStatus = ({ status, task }: Entry): string =>
  task?.refusal != null && task.activity === null ? "refused" : status;

function renderWords(entry: Entry): string {
  const { id, kind, title, paths, createdAtMs } = entry;
  const status = describeStatus(entry);
  const facts = [kind === "narration" ? `${kind} ${status}` : status, ...listPartsAndCredits(entry)];
  const lines = [
    `${formatLocalTime(createdAtMs)}  ${facts.join(", ")}  ${id}`,
    JSON.stringify(title),
    ...(paths.length === 0 ? [`next: ${wordFor(entry.nextStep, "terminal")}`] : paths),
  ];
  return lines.map(escapeForTerminal).join("\n    ");
}

function buildPageEntry(entry: Entry): PageEntry {
  const { title, parts, voice, take } = entry;
  const status = describeStatus(entry);
  return {
    ...entry,
    description: title,
    dateTime: formatIsoWithOffset(entry.createdAtMs),
    status: parts === null ? status : `${status}, ${parts}`,
    seconds: entry.audioSeconds,
    voice: voice ?? "",
    take: take ?? 1,
    next: wordFor(entry.nextStep, "terminal"),
  };
}

interface Listing {
  readonly entries: readonly Entry[];
  /** What was spent in all, in words. */
  readonly spending: string;
  /** Printed if there are no entries. */
  readonly emptyMessage: string;
}

function describeNoRequests(baseUrl: string, otherBaseUrls: readonly string[]): string {
  return otherBaseUrls.length === 0
    ? "No requests recorded yet."
    : `No requests recorded yet for ${baseUrl} (AUDIO_BASE_URL); the ledger holds some for ${otherBaseUrls.join(", ")}.`;
}

async function readListing({ provider }: CommandContext, limit: number): Promise<Listing> {
  const ledger = await provider.ledger();
  const folder = await openOutputFolder(requireOutputDir(provider.config), systemClock);
  const listedTasks = await listRecordedRequests(
    { ledger, folder },
    { status: null, search: null, limit },
    null,
  );
  const narrations = await listNarrations(
    { ledger, folder, plans: new PlanDocuments(ledger.database) },
    () => false,
    { search: null, limit },
  );
  const listCharges = async (narrationId: string): Promise<Charge[]> =>
    (await ledger.database.run((db) => listRequestCharges(db, narrationId))).map(({ body, ...charge }) => ({
      ...charge,
      voice: parseStoredInput({ body, written: null })?.voice ?? "",
    }));
  const entries: Entry[] = [
    ...listedTasks.map((task) => ({
      ...buildRequestEntry(task),
      charges: [
        {
          fingerprint: task.fingerprint,
          voice: task.voice ?? "",
          credits: task.billing?.charged_credits ?? 0,
        },
      ],
    })),
    ...(await Promise.all(
      narrations.map(async (listed) => ({
        ...buildNarrationEntry(listed),
        charges: await listCharges(listed.narration.id),
      })),
    )),
  ].sort((a, b) => b.createdAtMs - a.createdAtMs);
  const otherBaseUrls =
    entries.length === 0 ? await ledger.database.run((db) => listOtherBaseUrls(db, ledger)) : [];
  return {
    entries,
    spending: buildSpendingReport(await readSpending(ledger)).words,
    emptyMessage: escapeForTerminal(describeNoRequests(ledger.identity.baseUrl, otherBaseUrls)),
  };
}

/**
 * Lists the ledger.
 *
 * @param htmlFile path of the web page; `undefined` prints to stdout
 * @returns the exit code
 * @throws CommandError for issues of the settings or the store, or if another file is at `htmlFile`
 */
export async function runTasksCommand(asJson: boolean, htmlFile: string | undefined): Promise<number> {
  return await runWithWorkflow(false, async (context) => {
    const limit = htmlFile === undefined ? MAX_TASKS : MAX_TASKS_ON_PAGE + 1;
    const { entries, spending, emptyMessage } = await readListing(context, limit);
    if (htmlFile !== undefined) {
      const pageEntries = entries.slice(0, MAX_TASKS_ON_PAGE).map(buildPageEntry);
      const page = renderAudioPage(pageEntries, { hasOlder: entries.length > MAX_TASKS_ON_PAGE });
      const written = await writeGeneratedPage(htmlFile, TASKS_MARKER, page);
      process.stdout.write(`Written: ${escapeForTerminal(written)}\n`);
      return 0;
    }
    const rows = entries.map(({ row }) => row);
    const human =
      rows.length === 0
        ? emptyMessage
        : [...entries.map(renderWords), ...(spending === "" ? [] : [spending])].join("\n");
    process.stdout.write(`${asJson ? renderTerminalJson({ tasks: rows, count: rows.length }) : human}\n`);
    return 0;
  });
}
