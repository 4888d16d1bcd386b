/** Owns a folder of the bench's own, and a measured service in a process of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { z } from "zod";

const address = z.object({ base_url: z.string(), api_key: z.string() });

export interface Place {
  readonly root: string;
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly env: Readonly<Record<string, string>>;
  remove(): Promise<void>;
}

/** A fresh output and state folder, and a service whose audio has `audioBytes` and is ready after `processingMs`. */
export async function openPlace(audioBytes: number, processingMs = 0): Promise<Place> {
  const root = await mkdtemp(join(tmpdir(), "agm-bench-"));
  const child: ChildProcess = spawn(
    process.execPath,
    [join(import.meta.dirname, "service.ts"), String(audioBytes), String(processingMs)],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  if (child.stdout === null) throw new Error("the service has no stdout");
  const lines = createInterface({ input: child.stdout });
  const line: string = await new Promise((resolve) => lines.once("line", resolve));
  const { base_url: baseUrl, api_key: apiKey } = address.parse(JSON.parse(line));
  return {
    root,
    baseUrl,
    apiKey,
    env: {
      AUDIO_BASE_URL: baseUrl,
      AUDIO_API_KEY: apiKey,
      AUDIO_OUTPUT_DIR: join(root, "out"),
      AUDIO_STATE_DIR: join(root, "state"),
      AUDIO_TIME_SCALE: "0.001",
    },
    remove: async () => {
      child.kill("SIGTERM");
      await rm(root, { recursive: true, force: true });
    },
  };
}
