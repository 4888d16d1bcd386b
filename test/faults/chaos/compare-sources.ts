/** Compares what the service stores, what the tools returned and what is on disk. Corrects nothing. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { FakeService } from "../../support/fake-service.ts";
import type { LedgerLocation } from "../../support/ledger-view.ts";
import type { TestFolders } from "../../support/test-folders.ts";
import { filesBelow, spellingsOf } from "../find-leaks.ts";
import type { RawServer } from "../raw-server.ts";
import { compareLedger } from "./compare-ledger.ts";
import { type Asked, keyOf } from "./requests.ts";

/** Maximum number of attempts at one request. Tasks never fail this often in a row. */
const MAX_ATTEMPTS = 60;

/** The keys of all attempts so far, and of the next one. */
function keysOf(asked: Asked, service: FakeService): string[] {
  const keys = [keyOf(asked, 1)];
  while (service.byKey.has(keys.at(-1) ?? "")) keys.push(keyOf(asked, keys.length + 1));
  return keys;
}

/**
 * Checks the tasks of one request: every attempt but the last has failed, and the last one is what the tools
 * reported.
 */
function compareRequest(asked: Asked, service: FakeService, known: Set<string>): string[] {
  const wrong: string[] = [];
  const say = (what: string): void => {
    wrong.push(`${JSON.stringify(asked.input.prompt)}: ${what}`);
  };
  if (asked.isOverBudget) {
    for (const key of keysOf(asked, service)) {
      const task = service.byKey.get(key);
      if (task === undefined) continue;
      known.add(task.id);
      if (task.status !== "failed") say(`task ${task.id} ${task.status} although the budget refused it`);
    }
    return wrong;
  }
  let attempt = 1;
  while (attempt < MAX_ATTEMPTS && service.byKey.has(keyOf(asked, attempt + 1))) attempt += 1;
  for (let earlier = 1; earlier <= attempt; earlier += 1) {
    const task = service.byKey.get(keyOf(asked, earlier));
    if (task === undefined) {
      say(`attempt ${earlier} of ${attempt} was never made`);
      continue;
    }
    known.add(task.id);
    if (earlier < attempt && task.status !== "failed")
      say(`attempt ${earlier} was made again although it ${task.status}`);
  }
  const last = service.byKey.get(keyOf(asked, attempt));
  const { report } = asked;
  if (report === undefined) say("no tool ever reported that it is done");
  else if (report.taskId !== last?.id)
    say(`the tools tell of ${report.taskId}, the service holds ${last?.id}`);
  else {
    const billing = Object(service.view(last)["billing"]);
    if (report.chargedCredits !== billing.charged_credits) say("the charge is another");
  }
  return wrong;
}

/**
 * Checks that each request has one task with the reported charge, and that no task was created without a request.
 */
function compareTasks(all: readonly Asked[], service: FakeService): string[] {
  const known = new Set<string>();
  const wrong = all.flatMap((asked) => compareRequest(asked, service, known));
  for (const task of service.tasks.values()) {
    if (!known.has(task.id)) wrong.push(`nobody asked for task ${task.id} (${task.body.slice(0, 80)})`);
  }
  const unfailed = [...service.tasks.values()].filter(({ status }) => status !== "failed").length;
  const admitted = all.filter(({ isOverBudget }) => !isOverBudget).length;
  if (unfailed !== admitted) wrong.push(`${unfailed} tasks have not failed, of ${admitted} requests`);
  return wrong;
}

/** Checks that the folder contains exactly the bytes of every task, and nothing else. */
async function compareDisk(
  all: readonly Asked[],
  service: FakeService,
  testFolders: TestFolders,
  wasKilled: boolean,
): Promise<string[]> {
  const wrong: string[] = [];
  const expected = new Map(
    all.flatMap(({ report }) => (report === undefined ? [] : [[report.path, report] as const])),
  );
  for (const [path, report] of expected) {
    const bytes = await readFile(path).catch(() => Buffer.alloc(0));
    if (!bytes.equals(service.tasks.get(report.taskId)?.audio ?? Buffer.alloc(1)))
      wrong.push(`other bytes in ${path}`);
  }
  for (const path of await filesBelow(testFolders.root)) {
    const isAudio = path.startsWith(join(testFolders.outputDir, "/"));
    if (isAudio && expected.has(path)) continue;
    // The temporary file of a killed process, which is removed when it is two hours old.
    if (isAudio && wasKilled && /\/\.audio-generation-[0-9a-f]{16}\.\d+\.[0-9a-f]{12}\.part$/.test(path))
      continue;
    if (!path.startsWith(join(testFolders.stateDir, "/"))) wrong.push(`nobody asked for the file ${path}`);
  }
  const outside = (await readdir(testFolders.root)).filter((name) => name !== "out" && name !== "state");
  return [...wrong, ...outside.map((name) => `outside of the folders: ${name}`)];
}

/** The largest amount by which commitments exceeded the budget. */
export const creditsOver = (budget: number, service: FakeService): number =>
  Math.max(0, service.maxCommittedCredits - budget);

export interface ComparedSources {
  /** AUDIO_CREDIT_BUDGET. */
  readonly budget: number;
  readonly asked: readonly Asked[];
  readonly service: FakeService;
  readonly testFolders: TestFolders;
  readonly ledgerPlace: LedgerLocation;
  /** A killed process leaves its temporary files. */
  readonly wasKilled: boolean;
}

/** Returns every disagreement between ledger, tools, service and disk. */
export async function compareAllSources(books: ComparedSources): Promise<string[]> {
  const { budget, asked, service, testFolders, ledgerPlace, wasKilled } = books;
  const unsent = asked.filter(({ isOverBudget }) => isOverBudget).flatMap((one) => keysOf(one, service));
  const ledger = compareLedger(service, ledgerPlace, new Set(unsent));
  const over = creditsOver(budget, service);
  return [
    ...(over > 0 ? [`${over} credits were committed over the budget of ${budget}`] : []),
    ...(await ledger.catch((error: unknown) => [String(error)])),
    ...compareTasks(asked, service),
    ...(await compareDisk(asked, service, testFolders, wasKilled)),
  ];
}

/** Returns where any process printed a key. Then discards the outputs, because they have been checked. */
export function findKeysInOutput(keys: readonly string[], servers: readonly RawServer[]): string[] {
  const wrong: string[] = [];
  const needles = keys.flatMap(spellingsOf);
  for (const server of servers) {
    for (const line of [...server.lines, ...server.stderr.split("\n")]) {
      if (needles.some((needle) => line.includes(needle)))
        wrong.push(`the key is in the output of ${server.child.pid}: ${line}`);
    }
    for (const stray of server.strays) wrong.push(`standard output held ${stray.slice(0, 200)}`);
    server.lines.length = 0;
    server.notifications.length = 0;
    server.answers.clear();
    server.stderr = "";
  }
  return wrong;
}

/**
 * Returns where a file or file name of the state folder contains a key. Not for use while this process has the ledger
 * open, because reading a file ends all locks that its process has on it.
 */
export async function findKeysOnDisk(keys: readonly string[], testFolders: TestFolders): Promise<string[]> {
  const wrong: string[] = [];
  const needles = keys.flatMap(spellingsOf);
  for (const path of await filesBelow(testFolders.stateDir)) {
    const bytes = await readFile(path).catch(() => Buffer.alloc(0));
    if (needles.some((needle) => path.includes(needle) || bytes.includes(needle)))
      wrong.push(`the key is in ${path}`);
  }
  return wrong;
}
