/** Sets up what a measured server needs: folders of its own, and a service on loopback. */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { z } from "zod";
import type { ServerEnv } from "./raw-client.ts";

interface Service {
  readonly baseUrl: string;
  readonly apiKey: string;
  stop(): Promise<void>;
}

export interface Setup {
  readonly root: string;
  readonly service: Service;
  readonly env: ServerEnv;
  remove(): Promise<void>;
}

export async function openFolder(): Promise<{ root: string; remove(): Promise<void> }> {
  const root = await mkdtemp(join(tmpdir(), "agm-bench-"));
  // Retry, because a server that is just ending may still write its compile cache.
  return { root, remove: () => rm(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }) };
}

const address = z.object({ baseUrl: z.string(), apiKey: z.string() });

/**
 * Starts a service in a process of its own, so that serving does not slow down the measuring. Every task is ready
 * at once.
 */
export async function startService(audioBytes: number): Promise<Service> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "service.ts"), String(audioBytes)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout });
  const line = await new Promise<string>((resolve, reject) => {
    lines.once("line", resolve);
    child.once("exit", () => reject(new Error("the service did not start")));
  });
  return {
    ...address.parse(JSON.parse(line)),
    stop: async () => {
      child.stdin.end();
    },
  };
}

/** @param timeScale a thousandth by default, so that waiting for limits and polls adds almost nothing to the times */
export async function openSetup(service: Service, timeScale = 0.001): Promise<Setup> {
  const { root, remove } = await openFolder();
  return {
    root,
    service,
    env: {
      HOME: root,
      AUDIO_BASE_URL: service.baseUrl,
      AUDIO_API_KEY: service.apiKey,
      AUDIO_OUTPUT_DIR: join(root, "out"),
      AUDIO_STATE_DIR: join(root, "state"),
      AUDIO_TIME_SCALE: String(timeScale),
    },
    remove: async () => {
      await service.stop();
      await remove();
    },
  };
}
