/** Measures what a team loses when a master of its cluster dies: every text asked for must be one task at the service, and one file where it was asked for. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { CountingService } from "../test/support/counting-service.ts";
import type { RedisCluster } from "../test/support/redis-cluster.ts";
import { OURS } from "./contenders.ts";
import { optimumSeconds } from "./optimum.ts";
import { RawClient } from "./raw-client.ts";
import type { Team } from "./team.ts";

/** Four times faster than life: ten times, what waits asks the ledger so often that two cores do nothing else. */
const SCALE = 0.25;
const PROCESSING_SECONDS = 8;
const MACHINES = 10;
/** Each process asks for texts of its own, and for one that all of its account ask for at the same time. */
const OWN_TEXTS = 2;
/** An assistant that is told to call again does so after a moment. */
const AGAIN_MS = 500;
const MOST_CALLS = 100;

const result = z.object({
  isError: z.boolean().optional(),
  content: z.array(z.looseObject({ text: z.string().optional() })),
  structuredContent: z
    .looseObject({
      task_id: z.string().optional(),
      status: z.string().optional(),
      audio: z.looseObject({ path: z.string() }).optional(),
    })
    .optional(),
});

export interface Batch {
  readonly asked: number;
  readonly tookSeconds: number;
  /** Of the account with the most work, if everything but the limits took no time; in seconds of life. */
  readonly optimumSeconds: number;
  readonly refusedWith429: number;
  /** Answers that the store was away, each of which was followed by the same call. */
  readonly storeAway: number;
  /** Requests without exactly one task at the service. */
  readonly notPaidOnce: number;
  /** Calls that did not lead to a file with the bytes of their task. */
  readonly notDelivered: number;
  readonly faults: readonly string[];
}

interface Member {
  readonly client: RawClient;
  readonly account: number;
  readonly outputDir: string;
}

const hashOf = (path: string): string => createHash("sha256").update(readFileSync(path)).digest("hex");

/** The same call until its audio is there. */
async function insist(client: RawClient, prompt: string, told: (code: string) => void): Promise<string> {
  let last = "";
  for (let calls = 0; calls < MOST_CALLS; calls += 1) {
    const answer = await client.call("generate_audio", { prompt, wait_seconds: 20 });
    const { isError, content, structuredContent } = result.parse(answer.result);
    const path = structuredContent?.audio?.path;
    if (path !== undefined) return path;
    last = content.map(({ text }) => text ?? "").join(" ");
    if (isError === true) told(/^([a-z_]+):/.exec(last)?.[1] ?? last);
    await pause(AGAIN_MS);
  }
  throw new Error(`no audio after ${MOST_CALLS} calls: ${last}`);
}

async function runBatch(
  name: string,
  members: readonly Member[],
  service: CountingService,
  onHalf: () => Promise<void>,
): Promise<Batch> {
  const limitedBefore = service.limited;
  const faults: string[] = [];
  let storeAway = 0;
  const told = (code: string): void => {
    if (code === "store_unavailable") storeAway += 1;
    else faults.push(`told ${code}`);
  };
  const delivered: Array<{ account: number; prompt: string; path: string }> = [];
  const asked = members.flatMap((member, at) =>
    [...Array.from({ length: OWN_TEXTS }, (_, text) => `${at} ${text}`), "shared"].map((text) => ({
      member,
      prompt: `${name}, account ${member.account}, text ${text}`,
    })),
  );
  const beganAtMs = performance.now();
  let half: Promise<void> | undefined;
  await Promise.all(
    asked.map(async ({ member, prompt }) => {
      try {
        const path = await insist(member.client, prompt, told);
        delivered.push({ account: member.account, prompt, path });
      } catch (error) {
        faults.push(String(error));
      }
      if (delivered.length >= asked.length / 4) half ??= onHalf();
    }),
  );
  const tookSeconds = (performance.now() - beganAtMs) / 1000 / SCALE;
  await half;
  const wanted = new Map(
    asked.map(({ member, prompt }) => [`${member.account} ${prompt}`, { account: member.account, prompt }]),
  );
  const tasksOf = ({ prompt }: { prompt: string }) =>
    [...service.tasks.values()].filter(
      (task) => z.object({ prompt: z.string() }).parse(JSON.parse(task.body)).prompt === prompt,
    );
  const notPaidOnce = [...wanted.values()].filter((each) => tasksOf(each).length !== 1);
  const isRight = ({ prompt, path }: { prompt: string; path: string }): boolean => {
    const [task] = tasksOf({ prompt });
    return task !== undefined && hashOf(path) === createHash("sha256").update(task.audio).digest("hex");
  };
  const wrong = delivered.filter((each) => !isRight(each)).length + asked.length - delivered.length;
  const perAccount = Math.max(
    ...members.map(({ account }) => [...wanted.values()].filter((each) => each.account === account).length),
  );
  return {
    asked: wanted.size,
    tookSeconds,
    optimumSeconds: optimumSeconds(
      Array.from({ length: perAccount }, () => Math.ceil(PROCESSING_SECONDS / 5) * 5),
    ),
    refusedWith429: service.limited - limitedBefore,
    storeAway,
    notPaidOnce: notPaidOnce.length,
    notDelivered: wrong,
    faults,
  };
}

/** The hashes of all files in a folder, unfinished ones as well. */
function hashesIn(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => hashOf(join(parentPath, name)));
}

/** The one that the settings name, where it has not lost its place on a busy machine; else another. */
async function killMaster({ servers }: RedisCluster): Promise<void> {
  for (const server of servers) {
    if (!/master/.test(await server.command("ROLE"))) continue;
    await server.kill();
    return;
  }
}

/** One batch while all is well, and one during which a master, that of the address in the settings, is killed for good: its replica takes its place. */
export async function benchLosses(cluster: RedisCluster, { processes, keyOf, accountOf, accounts }: Team) {
  const apiKeys = Array.from({ length: accounts }, (_, account) => keyOf(account * (processes / accounts)));
  const service = await CountingService.start({
    processingMs: PROCESSING_SECONDS * 1000 * SCALE,
    limitScale: SCALE,
    separateAccounts: true,
    soundOfTheirOwn: true,
    apiKeys,
  });
  const root = await mkdtemp(join(tmpdir(), "agm-team-"));
  const members: Member[] = [];
  const clients: RawClient[] = [];
  try {
    for (let at = 0; at < processes; at += 1) {
      const machine = join(root, `machine ${at % MACHINES}`);
      const outputDir = join(machine, "out");
      const client = new RawClient(OURS, {
        AUDIO_BASE_URL: service.baseUrl,
        AUDIO_API_KEY: keyOf(at),
        AUDIO_STORE_URL: cluster.url,
        AUDIO_STATE_DIR: join(machine, "state"),
        AUDIO_OUTPUT_DIR: outputDir,
        AUDIO_TIME_SCALE: String(SCALE),
        AUDIO_CREDIT_BUDGET: String(1e9),
      });
      clients.push(client);
      await client.initialize();
      await client.call("list_tasks", {});
      members.push({ client, account: accountOf(at), outputDir });
    }
    const well = await runBatch("all is well", members, service, async () => undefined);
    const killed = await runBatch("a master dies", members, service, () => killMaster(cluster));
    const hashes = [...new Set(members.map(({ outputDir }) => outputDir))].map(hashesIn);
    // Each text that five machines ask for is one task and five files.
    const asked = 2 * members.length * (OWN_TEXTS + 1);
    return {
      well,
      killed,
      savedTwice: hashes.reduce((sum, each) => sum + each.length - new Set(each).size, 0),
      // What a machine has taken up because the one that asked for it could not renew its lease.
      savedElsewhere: hashes.reduce((sum, each) => sum + new Set(each).size, 0) - asked,
    };
  } finally {
    await Promise.all(clients.map((client) => client.stop()));
    await service.stop();
    await rm(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}
