/** Whether Redis can be written, and whether it may forget what it was told. */
import { z } from "zod";
import type { RedisLink } from "./redis-link.ts";

const CHECK_KEPT_MS = "86400000";

/** What works but should be changed, in whole sentences. */
export async function health(link: RedisLink, checkKey: string): Promise<string[]> {
  await link.send(checkKey, ["SET", checkKey, "1", "PX", CHECK_KEPT_MS]);
  let told: string;
  try {
    // Not CONFIG, which most who offer Redis forbid.
    told = z.string().parse(await link.send(checkKey, ["INFO", "memory"]));
  } catch (error) {
    // Forbidden too: nothing is known, and nothing can be said against it.
    if (error instanceof Error && /^(?:NOPERM|ERR)\b/.test(error.message)) return [];
    throw error;
  }
  const field = (name: string): string | undefined => new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(told)?.[1];
  const policy = field("maxmemory_policy");
  const isUnlimited = field("maxmemory") === "0";
  if (policy === undefined || policy === "noeviction" || isUnlimited) return [];
  return [`Redis may evict records (maxmemory-policy ${policy}): set it to noeviction.`];
}
