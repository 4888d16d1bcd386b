/** Owns what a child process does to a shared store in the tests of several processes; one job, told as JSON. */
import { writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { systemClock } from "../../src/clock.ts";
import { createHolderId } from "../../src/holder.ts";
import { openStore } from "../../src/ledger/open-store.ts";
import { createLimits } from "../../src/limits/limits.ts";
import { createLog } from "../../src/log.ts";
import { aRecord } from "./a-record.ts";

const jobSchema = z.object({
  job: z.enum(["write", "create", "hang", "idle"]),
  stateDir: z.string(),
  storeUrl: z.string().nullable(),
  name: z.string(),
  count: z.int(),
  timeScale: z.number(),
  creditBudget: z.number().nullable(),
});
export type Job = z.infer<typeof jobSchema>;

/** Written at once and whole, so that a killed process has told everything that it had done. */
function tell(fact: object): void {
  writeSync(1, `${JSON.stringify(fact)}\n`);
}

const job = jobSchema.parse(JSON.parse(process.argv[2] ?? ""));
const log = createLog("warn", (text) => text);
const store = await openStore({ ...job, log, clock: systemClock });
const limits = createLimits({
  ...job,
  coordinator: store.coordinator,
  clock: systemClock,
  log,
  accountId: "account",
  origin: "https://service.example",
  holder: createHolderId(),
});
const recordId = (at: number): string => `${job.name}-${at}`;
const signal = new AbortController().signal;
const admit = (at: number) =>
  limits.admitCreate({ recordId: recordId(at), attempt: 1, signal, onWaiting: () => {} });

async function write(): Promise<void> {
  for (let at = 0; at < job.count; at += 1) {
    await store.records.set(aRecord({ recordId: recordId(at) }));
    tell({ written: recordId(at) });
  }
}

/** A create whose request arrives some time after its admission, and whose task takes a while. */
async function create(at: number): Promise<void> {
  try {
    const slot = await admit(at);
    await sleep(Math.random() * 15);
    const arrivedAtMs = systemClock.steadyMs();
    await sleep(Math.random() * 15);
    await slot.settle("accepted");
    await sleep(30 + Math.random() * 40);
    const endedAtMs = systemClock.steadyMs();
    await limits.endTask(recordId(at), 1, 150);
    tell({ created: recordId(at), arrivedAtMs, endedAtMs });
  } catch (error) {
    tell({ refused: error instanceof Error && "code" in error ? error.code : String(error) });
  }
}

if (job.job === "write") await write();
else if (job.job === "create") {
  // Timers of the limits never keep a process alive; here the process is alive for another reason.
  const alive = setInterval(() => {}, 1000);
  await Promise.all(Array.from({ length: job.count }, (_, at) => create(at)));
  clearInterval(alive);
  await limits.close();
  await store.close();
} else {
  await admit(0);
  tell({ admitted: recordId(0) });
  if (job.job === "hang") setInterval(() => {}, 1000);
}
