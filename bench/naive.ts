/** Owns the strategy that every first version has: send at once, and on a 429 wait as long as it says; for comparison only. */

import { z } from "zod";
import { LIMIT_WINDOW_SECONDS, POLL_INTERVAL_SECONDS } from "../src/contract/limits.ts";
import { GENERATIONS_PATH } from "../src/contract/wire.ts";
import { CountingService } from "../test/support/counting-service.ts";

const answer = z.object({ id: z.string().optional(), status: z.string().optional() });

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * All inputs at once against the real limits, scaled.
 *
 * @returns seconds of life, and how many answers were 429
 */
export async function runNaive(
  inputs: number,
  processingSeconds: number,
  scale: number,
): Promise<{ tookSeconds: number; refusedWith429: number }> {
  const service = await CountingService.start({
    processingMs: processingSeconds * 1000 * scale,
    limitScale: scale,
  });
  const headers = { authorization: `Bearer ${service.apiKey}`, "content-type": "application/json" };
  const ask = async (path: string, init: RequestInit): Promise<z.infer<typeof answer>> => {
    for (;;) {
      const response = await fetch(`${service.baseUrl}${GENERATIONS_PATH}${path}`, init);
      const body = answer.parse(await response.json());
      if (response.status !== 429) return body;
      await sleep(LIMIT_WINDOW_SECONDS * 1000 * scale);
    }
  };
  const narrate = async (number: number): Promise<void> => {
    const key = { "idempotency-key": `naive-${number}` };
    const body = JSON.stringify({ prompt: `Narration ${number}` });
    let task = await ask("", { method: "POST", headers: { ...headers, ...key }, body });
    while (task.status === "queued" || task.status === "processing") {
      await sleep(POLL_INTERVAL_SECONDS * 1000 * scale);
      task = await ask(`/${task.id}`, { headers });
    }
  };
  const beganAt = performance.now();
  try {
    await Promise.all(Array.from({ length: inputs }, (_, number) => narrate(number)));
    return { tookSeconds: (performance.now() - beganAt) / 1000 / scale, refusedWith429: service.limited };
  } finally {
    await service.stop();
  }
}
