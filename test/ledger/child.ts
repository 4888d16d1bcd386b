/** Starts a worker process and reads its reports. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { z } from "zod";
import { COMPILED } from "../support/bin-under-test.ts";
import type { Job } from "./worker.ts";

const WORKER = fileURLToPath(new URL("./worker.ts", import.meta.url));

const factSchema = z.object({
  written: z.string().optional(),
  refused: z.string().optional(),
  admitted: z.string().optional(),
  steps: z.number().optional(),
});
type Fact = z.infer<typeof factSchema>;

export class Child {
  readonly facts: Fact[] = [];
  /** The output of the process on stderr. */
  noise = "";
  readonly #process: ChildProcess;
  readonly #ended: Promise<unknown>;
  #onFact: () => void = () => {};

  constructor(job: Partial<Job> & Pick<Job, "job" | "stateDir">) {
    const whole: Job = {
      ...{ baseUrl: "https://service.example", apiKey: "sk-test", storeUrl: null, name: "a", count: 1 },
      ...{ timeScale: 0.03, creditBudget: null, diesAfter: 0, ...job },
    };
    const child = spawn(process.execPath, [WORKER, JSON.stringify(whole)], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...COMPILED },
    });
    this.#process = child;
    this.#ended = once(child, "close");
    createInterface({ input: child.stdout }).on("line", (line) => {
      this.facts.push(factSchema.parse(JSON.parse(line)));
      this.#onFact();
    });
    child.stderr.on("data", (data) => {
      this.noise += String(data);
    });
    onTestFinished(() => this.kill());
  }

  /** Resolves when the process has reported `count` facts, or has ended. */
  async reported(count: number): Promise<void> {
    const enough = new Promise<void>((resolve) => {
      this.#onFact = () => {
        if (this.facts.length >= count) resolve();
      };
      this.#onFact();
    });
    await Promise.race([enough, this.#ended]);
  }

  async ended(): Promise<void> {
    await this.#ended;
  }

  async kill(): Promise<void> {
    if (this.#process.exitCode === null && this.#process.signalCode === null) this.#process.kill("SIGKILL");
    await this.#ended;
  }
}
