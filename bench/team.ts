/** Measures a team: 50 processes, ten accounts, one Redis Cluster of three masters with a replica each, of which a master dies. */
import { startCluster } from "../test/support/redis-cluster.ts";
import { whyNoRedis } from "../test/support/redis-server.ts";
import { atLeast, atMost, type Sample, type Verdict } from "./measure.ts";
import { benchAdmissions } from "./team-admissions.ts";
import { type Batch, benchLosses } from "./team-losses.ts";

const PROCESSES = 50;
const ACCOUNTS = 10;
/** As teams set it; Redis's own is 15 s. */
const NODE_TIMEOUT_MS = 5000;
/** A hundred times what the limits of ten accounts admit. */
const FEWEST_A_SECOND = 100;
/** At one admission a process and second, fifty times what those limits admit. */
const MOST_P99_MS = 50;

export interface Team {
  readonly processes: number;
  readonly accounts: number;
  accountOf(process: number): number;
  keyOf(process: number): string;
}

const accountOf = (at: number): number => Math.floor((at * ACCOUNTS) / PROCESSES);

const TEAM: Team = {
  processes: PROCESSES,
  accounts: ACCOUNTS,
  accountOf,
  keyOf: (at) => `sk-team-${accountOf(at)}-0123456789abcdef`,
};

function print(name: string, batch: Batch): void {
  const { asked, tookSeconds, optimumSeconds, refusedWith429, storeAway, notPaidOnce, notDelivered } = batch;
  console.log(
    `  ${name}: ${asked} requests in ${tookSeconds.toFixed(0)} s of life, optimum ${optimumSeconds.toFixed(0)} s; ${refusedWith429} refused with 429, ${storeAway} told that the store was away; ${notPaidOnce} not paid once, ${notDelivered} not delivered`,
  );
  for (const fault of batch.faults.slice(0, 5)) console.log(`    ${fault}`);
}

export async function benchTeam(
  rounds: number,
): Promise<{ samples: readonly Sample[]; verdicts: Verdict[] }> {
  if (whyNoRedis() !== undefined) return { samples: [], verdicts: [] };
  const cluster = await startCluster({
    hasReplicas: true,
    nodeTimeoutMs: NODE_TIMEOUT_MS,
    // Redis's own: what a master had not yet written is what its replica has.
    more: ["--appendfsync", "everysec"],
  });
  try {
    const admissions = await benchAdmissions(cluster, TEAM, rounds);
    const { well, killed, savedTwice, savedElsewhere } = await benchLosses(cluster, TEAM);
    console.log(`\nA team's generations: ${PROCESSES} processes of the bin, ${ACCOUNTS} accounts`);
    print("all is well", well);
    print("a master is killed, its replica takes its place", killed);
    console.log(
      `  ${savedElsewhere} files were saved by another machine as well, ${savedTwice} twice in one folder`,
    );
    return {
      samples: admissions.samples,
      verdicts: [
        atLeast(
          "team",
          "admissions a second, fifty processes at once",
          admissions.perSecond,
          FEWEST_A_SECOND,
        ),
        atMost("team", "admission, 99 of 100", admissions.p99Ms, MOST_P99_MS, " ms"),
        atMost("team", "requests, over the optimum", well.tookSeconds / well.optimumSeconds, 1.1),
        atMost("team", "refused with 429", well.refusedWith429 + killed.refusedWith429, 0),
        atMost(
          "team",
          "a master killed: requests not paid exactly once",
          killed.notPaidOnce + well.notPaidOnce,
          0,
        ),
        atMost(
          "team",
          "a master killed: calls without their audio",
          killed.notDelivered + well.notDelivered,
          0,
        ),
        atMost("team", "a master killed: files saved twice in one folder", savedTwice, 0),
      ],
    };
  } finally {
    await cluster.remove();
  }
}
