/** A record goes over from one account to another, which may be in another place of a cluster: in two steps. */
import { z } from "zod";
import type { Row } from "../record.ts";
import { BRING_IN, LOOK_AT, REMOVE } from "./record-scripts.ts";
import { accountKeys, recordHashKey } from "./redis-keys.ts";
import type { RedisLink } from "./redis-link.ts";
import type { Place, Rows } from "./redis-rows.ts";
import type { Scripts } from "./redis-script.ts";

const theirsAnswer = z.union([z.tuple([]), z.tuple([z.string(), z.string(), z.string().nullable()])]);
const flightEntry = z.object({ at: z.string(), holder: z.string() });
const broughtAnswer = z.union([
  z.tuple([z.literal("written")]),
  z.tuple([z.literal("refused"), z.string(), z.string(), z.string()]),
]);

/** First it is written here, then removed there: whoever is stopped in between does it again, and nothing is lost. */
export async function adopt(
  link: RedisLink,
  scripts: Scripts,
  rows: Rows,
  from: Place,
  after: Row,
): Promise<void> {
  if (from.accountId === after.accountId && from.recordId === after.recordId) return;
  const keys = [recordHashKey(from.accountId, from.recordId), accountKeys(from.accountId).flight] as const;
  const look = await scripts.run(link, LOOK_AT, { keys, q: { id: from.recordId } });
  const [theirFlight, theirTask, entry] = theirsAnswer.parse(look);
  if (theirTask === undefined) return;
  const isSameFlight = theirFlight === after.flight;
  const question = { place: after, after, ...(isSameFlight ? placeOf(entry ?? null) : {}) };
  const [brought, , ourTask, ourSpend] = broughtAnswer.parse(await rows.run(link, BRING_IN, question));
  // Two records of one task count it twice. Of another task the money is spent, although its record goes.
  const isSameTask = theirTask !== "" && theirTask === ourTask && ourSpend !== "";
  const keepsSpend = brought === "refused" && !isSameTask;
  await rows.run(link, REMOVE, { place: from, after: null, more: { keepsSpend } });
}

/** The date goes over too, so that adopting a task gives it no time anew; without an entry its time is over. */
function placeOf(entry: string | null) {
  if (entry === null) return { more: { isOver: true } };
  const { at, holder } = flightEntry.parse(JSON.parse(entry));
  return { flight: { flightAt: at, flightHolder: holder } };
}
