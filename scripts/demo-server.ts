/** Runs the server for the demos: the built bin on its own sandbox, driven by the official client. */
import { homedir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import type { z } from "zod";

export const say = (line: string): void => console.log(line);
export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

/** Settings of the user that the demo keeps. */
const KEPT = ["AUDIO_OUTPUT_DIR", "AUDIO_STATE_DIR"];

/** Ten minutes, which is longer than any demo takes. */
const CALL_TIMEOUT_MS = 600_000;

export class DemoServer {
  readonly #client = new Client({ name: "audio-generation-demo", version: "1.0.0" });
  readonly #settings: Readonly<Record<string, string>>;

  constructor(settings: Readonly<Record<string, string>>) {
    this.#settings = settings;
  }

  async start(): Promise<void> {
    const startedAt = performance.now();
    const kept = KEPT.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    });
    await this.#client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [join(import.meta.dirname, "..", "dist", "main.js"), "--sandbox"],
        env: { HOME: homedir(), ...this.#settings, ...Object.fromEntries(kept) },
      }),
    );
    say(
      `Connected to the server in ${Math.round(performance.now() - startedAt)} ms. No account, no key: it runs against its own sandbox.\n`,
    );
  }

  /** Calls a tool, and shows its progress. */
  async call<T>(schema: z.ZodType<T>, name: string, args: Record<string, unknown>): Promise<T> {
    const beganAt = performance.now();
    let shown = "";
    const result = await this.#client.callTool(
      { name, arguments: args },
      {
        timeout: CALL_TIMEOUT_MS,
        onprogress: ({ message = "" }) => {
          if (message === shown) return;
          shown = message;
          say(`    … ${seconds(performance.now() - beganAt).padStart(6)}  ${message}`);
        },
      },
    );
    if (result.isError === true) throw new Error(JSON.stringify(result.content));
    return schema.parse(result.structuredContent);
  }

  async close(): Promise<void> {
    await this.#client.close();
  }
}
