/** Measures three days of a person's work in simulated time: what a server keeps of them, and what it does in the nights. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { RedisServer } from "../test/support/redis-server.ts";
import { OURS } from "./contenders.ts";
import type { StoreName } from "./filled-ledger.ts";
import { openPlace } from "./place.ts";
import { RawClient } from "./raw-client.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** From nine to five, a text every eight minutes. */
const TEXTS_A_DAY = 60;
const BETWEEN_TEXTS_MS = 8 * MINUTE_MS;
const DAYS = 3;
/** In which the day's last connections are closed. */
const EVENING_MS = HOUR_MS;
const NIGHT_MS = 24 * HOUR_MS - TEXTS_A_DAY * BETWEEN_TEXTS_MS - EVENING_MS;

const SIMULATED = {
  ...OURS,
  args: ["--expose-gc", "--import", join(import.meta.dirname, "simulated-time.ts"), ...OURS.args],
  hasChannel: true,
};

const state = z.object({
  fired: z.number(),
  timers: z.number(),
  heapUsedBytes: z.number(),
  residentBytes: z.number(),
});

export interface Evening {
  readonly heapMiB: number;
  readonly residentMiB: number;
  readonly handles: number;
  /** All but the audio that was asked for. */
  readonly files: number;
  readonly timers: number;
  /** Timers that ran in the night. */
  readonly wakeUpsAtNight: number;
  /** Timers that ran from nine to five. */
  readonly wakeUpsByDay: number;
}

async function advance(client: RawClient, advanceMs: number): Promise<z.infer<typeof state>> {
  const answered = new Promise<unknown>((resolve, reject) => {
    const onExit = (code: number | null): void => reject(new Error(`the server ended with ${code}`));
    client.child.once("exit", onExit);
    client.child.once("message", (message) => {
      client.child.off("exit", onExit);
      resolve(message);
    });
  });
  client.child.send({ advanceMs });
  return state.parse(await answered);
}

const filesIn = (folder: string): number => readdirSync(folder, { recursive: true }).length;

/** A text is asked for, listened to, looked at again; at noon something long is narrated. */
async function work(client: RawClient, day: number): Promise<void> {
  for (let text = 0; text < TEXTS_A_DAY; text += 1) {
    const call = { prompt: `Text ${text} of day ${day}, as a person would have it spoken.` };
    const generated = client.call("generate_audio", call);
    await advance(client, MINUTE_MS);
    const answer = JSON.stringify((await generated).result);
    if (!answer.includes('"succeeded"')) throw new Error(`no audio: ${answer}`);
    const later = [
      client.call("generate_audio", call),
      client.call("list_tasks", {}),
      client.request("ping", {}),
    ];
    if (text === TEXTS_A_DAY / 2) {
      const long = Array.from(
        { length: 150 },
        (_, at) => `This is sentence ${at} of what is narrated on day ${day}.`,
      );
      later.push(client.call("narrate", { text: long.join(" "), max_credits: 10_000, wait_seconds: 300 }));
    }
    await advance(client, BETWEEN_TEXTS_MS - MINUTE_MS);
    for (const each of await Promise.all(later)) {
      if ("isError" in each.result && each.result["isError"] === true)
        throw new Error(JSON.stringify(each.result));
    }
  }
}

/** How the server stands after each of the days. */
export async function liveDays(name: StoreName): Promise<Evening[]> {
  const place = await openPlace(20_000);
  const redis = name === "Redis" ? await RedisServer.start() : null;
  const outputDir = place.env["AUDIO_OUTPUT_DIR"] ?? "";
  const stateDir = place.env["AUDIO_STATE_DIR"] ?? "";
  const client = new RawClient(SIMULATED, {
    ...place.env,
    // The windows of limits run on the clock of Redis, which nobody simulates.
    ...(redis === null ? { AUDIO_TIME_SCALE: "1" } : { AUDIO_STORE_URL: redis.url }),
  });
  try {
    await client.initialize();
    const evenings: Evening[] = [];
    for (let day = 1; day <= DAYS; day += 1) {
      const morning = await advance(client, 0);
      await work(client, day);
      const evening = await advance(client, EVENING_MS);
      const { fired, timers, heapUsedBytes, residentBytes } = await advance(client, NIGHT_MS);
      const audio = readdirSync(outputDir, { recursive: true, encoding: "utf8" }).filter((each) =>
        /\.mp3$/.test(each),
      );
      evenings.push({
        heapMiB: heapUsedBytes / 2 ** 20,
        residentMiB: residentBytes / 2 ** 20,
        handles: await client.openHandles(),
        files: filesIn(outputDir) + filesIn(stateDir) - audio.length,
        timers,
        wakeUpsAtNight: fired - evening.fired,
        wakeUpsByDay: evening.fired - morning.fired,
      });
    }
    return evenings;
  } finally {
    await client.stop();
    await redis?.remove();
    await place.remove();
  }
}
