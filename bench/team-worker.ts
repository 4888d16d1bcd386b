/** One process of a team: opens the ledger on the shared store, and admits creates as fast or at the pace that its parent says; forked by path. */
import { z } from "zod";
import { systemClock } from "../src/clock.ts";
import { AudioError } from "../src/errors.ts";
import { createHolderId } from "../src/holder.ts";
import { openLedger } from "../src/ledger/open-ledger.ts";
import { accountKeys } from "../src/ledger/redis/redis-keys.ts";
import { connectLink } from "../src/ledger/redis/redis-link.ts";
import { createLog } from "../src/log.ts";
import { admitAndTakeBack } from "./one-admission.ts";

const [storeUrl = "", stateDir = "", baseUrl = "", apiKey = ""] = process.argv.slice(2);

/** What the parent asks for. */
const order = z.object({
  /** `nothing`: one write of as many bytes in a script that does nothing else, which no admission can be faster than. */
  what: z.enum(["admission", "nothing"]),
  forMs: z.number(),
  /** From one beginning to the next; 0: at once. */
  everyMs: z.number(),
});

const ledger = await openLedger({
  config: { stateDir, storeUrl },
  address: { baseUrl, apiKey },
  holder: createHolderId(),
  log: createLog("silent", (text) => text),
  clock: systemClock,
});
const { check } = accountKeys(ledger.identity.accountId);
const link = await connectLink({
  url: new URL(storeUrl),
  connectMs: 5000,
  onError: () => undefined,
  onOpen: () => undefined,
});
const BYTES = "x".repeat(1500);
const NOTHING = "redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) return 1";

let number = 0;

async function once(what: "admission" | "nothing"): Promise<number> {
  number += 1;
  if (what === "admission") return await admitAndTakeBack(ledger, `${process.pid} ${number}`);
  const beganAtMs = performance.now();
  await link.send(check, ["EVAL", NOTHING, "1", check, String(process.pid), BYTES]);
  return performance.now() - beganAtMs;
}

process.on("message", async (message: unknown) => {
  const { what, forMs, everyMs } = order.parse(message);
  const tookMs: number[] = [];
  let failures = 0;
  const beganAtMs = performance.now();
  // Not all at the same moment, as nobody's calls are.
  let nextAtMs = beganAtMs + Math.random() * everyMs;
  while (performance.now() - beganAtMs < forMs) {
    const waitMs = nextAtMs - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    const onceAtMs = performance.now();
    try {
      tookMs.push(await once(what));
    } catch (error) {
      if (!(error instanceof AudioError) || error.code !== "store_unavailable") throw error;
      // It counts with the time that it took to be told.
      failures += 1;
      tookMs.push(performance.now() - onceAtMs);
    }
    nextAtMs += everyMs;
  }
  if (process.connected) process.send?.({ tookMs, failures });
});

await once("nothing");
await once("admission");
process.send?.({ tookMs: [], failures: 0 });
process.once("disconnect", () => process.exit(0));
