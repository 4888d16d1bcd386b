/** Compares what the service stores, what the tools returned and what is on disk. Corrects nothing. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { FakeService } from "../../support/fake-service.ts";
import type { LedgerLocation } from "../../support/ledger-view.ts";
import type { TestFolders } from "../../support/test-folders.ts";
import { filesBelow, spellingsOf } from "../find-leaks.ts";
import type { RawServer } from "../raw-server.ts";
import { compareLedger } from "./compare-ledger.ts";
import { type ChaosRequest, keyOf } from "./requests.ts";

/** Maximum number of attempts at one request. Tasks never fail this often in a row. */
const MAX_ATTEMPTS = 60;

/** Returns the idempotency keys of all attempts at a request so far, and of the next attempt. */
function keysOf(request: ChaosRequest, service: FakeService): string[] {
  const keys = [keyOf(request, 1)];
  while (service.byKey.has(keys.at(-1) ?? "")) keys.push(keyOf(request, keys.length + 1));
  return keys;
}

/**
 * Checks the tasks of one request. Every attempt before the last has failed, and the tools have reported the task of
 * the last attempt. If the budget refused the request, all of its tasks have failed; but another API key may have sent
 * one without an answer, and this one has learnt of its reservation alone.
 */
function compareRequest(
  request: ChaosRequest,
  { service, hasSeveralKeys }: ComparedSources,
  known: Set<string>,
): string[] {
  const problems: string[] = [];
  const say = (what: string): void => {
    problems.push(`${JSON.stringify(request.input.prompt)}: ${what}`);
  };
  if (request.isOverBudget) {
    for (const key of keysOf(request, service)) {
      const task = service.byKey.get(key);
      if (task === undefined) continue;
      known.add(task.id);
      if (task.status !== "failed" && !hasSeveralKeys)
        say(`task ${task.id} ${task.status} although the budget refused it`);
    }
    return problems;
  }
  let attempt = 1;
  while (attempt < MAX_ATTEMPTS && service.byKey.has(keyOf(request, attempt + 1))) attempt += 1;
  for (let earlier = 1; earlier <= attempt; earlier += 1) {
    const task = service.byKey.get(keyOf(request, earlier));
    if (task === undefined) {
      say(`attempt ${earlier} of ${attempt} was never made`);
      continue;
    }
    known.add(task.id);
    if (earlier < attempt && task.status !== "failed")
      say(`attempt ${earlier} was made again although it ${task.status}`);
  }
  const last = service.byKey.get(keyOf(request, attempt));
  const { report } = request;
  if (report === undefined) say("no tool ever reported that it is done");
  else if (report.taskId !== last?.id)
    say(`the tools tell of ${report.taskId}, the service holds ${last?.id}`);
  else {
    const billing = Object(service.view(last)["billing"]);
    if (report.chargedCredits !== billing.charged_credits) say("the charge is another");
  }
  return problems;
}

/**
 * Checks that each request has one task with the reported charge, and that no task was created without a request.
 */
function compareTasks(sources: ComparedSources): string[] {
  const { requests: all, service } = sources;
  const known = new Set<string>();
  const problems = all.flatMap((request) => compareRequest(request, sources, known));
  for (const task of service.tasks.values()) {
    if (!known.has(task.id)) problems.push(`nobody asked for task ${task.id} (${task.body.slice(0, 80)})`);
  }
  const refusedKeys = new Set(
    sources.hasSeveralKeys
      ? all.filter(({ isOverBudget }) => isOverBudget).flatMap((one) => keysOf(one, service))
      : [],
  );
  const unfailed = [...service.byKey].filter(
    ([key, { status }]) => status !== "failed" && !refusedKeys.has(key),
  ).length;
  const admitted = all.filter(({ isOverBudget }) => !isOverBudget).length;
  if (unfailed !== admitted) problems.push(`${unfailed} tasks have not failed, of ${admitted} requests`);
  return problems;
}

/** Checks that the output folder contains the whole audio of every task, and that no other file was left. */
async function compareDisk(
  all: readonly ChaosRequest[],
  service: FakeService,
  testFolders: TestFolders,
  wasKilled: boolean,
): Promise<string[]> {
  const problems: string[] = [];
  const expected = new Map(
    all.flatMap(({ report }) => (report === undefined ? [] : [[report.path, report] as const])),
  );
  for (const [path, report] of expected) {
    const bytes = await readFile(path).catch(() => Buffer.alloc(0));
    if (!bytes.equals(service.tasks.get(report.taskId)?.audio ?? Buffer.alloc(1)))
      problems.push(`other bytes in ${path}`);
  }
  for (const path of await filesBelow(testFolders.root)) {
    const isAudio = path.startsWith(join(testFolders.outputDir, "/"));
    if (isAudio && expected.has(path)) continue;
    // A killed process leaves a temporary file, which a later process removes.
    if (isAudio && wasKilled && /\/\.audio-generation-[0-9a-f]{16}\.\d+\.[0-9a-f]{12}\.part$/.test(path))
      continue;
    if (!path.startsWith(join(testFolders.stateDir, "/"))) problems.push(`nobody asked for the file ${path}`);
  }
  const outside = (await readdir(testFolders.root)).filter((name) => name !== "out" && name !== "state");
  return [...problems, ...outside.map((name) => `outside of the folders: ${name}`)];
}

/** Returns the largest number of credits by which reservations and charges exceeded the budget at any time. */
export const creditsOver = (budget: number, service: FakeService): number =>
  Math.max(0, service.maxCommittedCredits - budget);

export interface ComparedSources {
  /** The value of AUDIO_CREDIT_BUDGET in this run. */
  readonly budget: number;
  readonly requests: readonly ChaosRequest[];
  readonly service: FakeService;
  readonly testFolders: TestFolders;
  readonly ledgerLocation: LedgerLocation;
  /** Whether a process was killed, because a killed process leaves its temporary files. */
  readonly wasKilled: boolean;
  /** Whether the processes of this run have had different API keys, of one account. */
  readonly hasSeveralKeys: boolean;
}

/** Returns every disagreement between ledger, tools, service and disk. */
export async function compareAllSources(books: ComparedSources): Promise<string[]> {
  const { budget, requests, service, testFolders, ledgerLocation, wasKilled } = books;
  const unsent = requests.filter(({ isOverBudget }) => isOverBudget).flatMap((one) => keysOf(one, service));
  const ledger = compareLedger(service, ledgerLocation, new Set(unsent));
  const over = creditsOver(budget, service);
  return [
    ...(over > 0 ? [`${over} credits were committed over the budget of ${budget}`] : []),
    ...(await ledger.catch((error: unknown) => [String(error)])),
    ...compareTasks(books),
    ...(await compareDisk(requests, service, testFolders, wasKilled)),
  ];
}

/** Returns where a process printed a key, or a line that is not protocol. Then discards the outputs. */
export function findKeysInOutput(keys: readonly string[], servers: readonly RawServer[]): string[] {
  const problems: string[] = [];
  const needles = keys.flatMap(spellingsOf);
  for (const server of servers) {
    for (const line of [...server.lines, ...server.stderr.split("\n")]) {
      if (needles.some((needle) => line.includes(needle)))
        problems.push(`the key is in the output of ${server.child.pid}: ${line}`);
    }
    for (const stray of server.strays) problems.push(`standard output held ${stray.slice(0, 200)}`);
    server.lines.length = 0;
    server.notifications.length = 0;
    server.answers.clear();
  }
  return problems;
}

/**
 * Lists the files and file names of the state folder that contain an API key. Do not call this while this process has the
 * ledger open: when a process closes a file that it has read, it loses all of its locks on this file.
 */
export async function findKeysOnDisk(keys: readonly string[], testFolders: TestFolders): Promise<string[]> {
  const problems: string[] = [];
  const needles = keys.flatMap(spellingsOf);
  for (const path of await filesBelow(testFolders.stateDir)) {
    const bytes = await readFile(path).catch(() => Buffer.alloc(0));
    if (needles.some((needle) => path.includes(needle) || bytes.includes(needle)))
      problems.push(`the key is in ${path}`);
  }
  return problems;
}
