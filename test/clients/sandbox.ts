/** Starts a sandbox of the service from the built bin as a separate process. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { z } from "zod";
import type { Fault } from "./conversation.ts";

const startupLine = z.object({ base_url: z.url(), api_key: z.string() });
/** The request bodies for `/sandbox/faults`. */
const FAULT_BODIES: Record<Fault, object> = {
  down: { unavailable: "temporarily_unavailable" },
  failing: { fail_next_tasks: 2 },
};
const START_TIMEOUT_MS = 20_000;

export interface Sandbox {
  readonly baseUrl: string;
  readonly apiKey: string;
  injectFault(fault: Fault): Promise<void>;
  stop(): Promise<void>;
}

/** @param bin path of the built `main.js` */
export async function startSandbox(bin: string, home: string): Promise<Sandbox> {
  const child = spawn(process.execPath, [bin, "sandbox", "--processing-seconds", "0.1"], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { HOME: home },
  });
  const lines = createInterface({ input: child.stdout });
  const [line] = await once(lines, "line", { signal: AbortSignal.timeout(START_TIMEOUT_MS) });
  const { base_url: baseUrl, api_key: apiKey } = startupLine.parse(JSON.parse(String(line)));
  return {
    baseUrl,
    apiKey,
    injectFault: async (fault) => {
      const { status } = await fetch(new URL("/sandbox/faults", baseUrl), {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(FAULT_BODIES[fault]),
      });
      if (status !== 204) throw new Error(`the sandbox answered ${status}`);
    },
    stop: async () => {
      const ended = once(child, "close");
      child.kill("SIGTERM");
      await ended;
    },
  };
}
