/** Builds the workflow on the first call that needs it, from the environment's settings or a sandbox's. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../config/config.ts";
import type { Environment } from "../environment.ts";
import { AudioError } from "../errors.ts";
import type { Generation } from "../generation/generation.ts";
import type { Log } from "../log.ts";
import type { Narrations } from "../narration/narrations.ts";
import { createRedact, type Redact } from "../redaction.ts";
import { configurationError } from "./configuration-error.ts";
import type { Compose, Workflow } from "./workflow.ts";

/**
 * The environment as `--sandbox` sees it: address, key and store are its own. The address is a
 * stand-in on this machine until the sandbox listens; it lets loopback-only settings pass.
 */
export function sandboxEnvironment(env: Environment): Environment {
  return {
    ...env,
    AUDIO_BASE_URL: "http://127.0.0.1",
    AUDIO_API_KEY: "not-known-yet",
    AUDIO_STORE_URL: undefined,
  };
}

const composeOnDemand: Compose = async (config, service, log) => {
  const { composeWorkflow } = await import("./compose.ts");
  return await composeWorkflow(config, service, log);
};

export class WorkflowProvider {
  readonly #config: Config;
  readonly #isSandbox: boolean;
  readonly #compose: Compose;
  #opening: Promise<Workflow> | undefined;
  #stopSandbox: (() => Promise<void>) | undefined;
  #sandboxRedact: Redact = (text) => text;
  log: Log | undefined;

  constructor(config: Config, isSandbox: boolean, compose: Compose = composeOnDemand) {
    this.#config = config;
    this.#isSandbox = isSandbox;
    this.#compose = compose;
  }

  /** Blots out the sandbox's key, which is not known before it runs. */
  redact(text: string): string {
    return this.#sandboxRedact(text);
  }

  /**
   * The workflow, one for all calls; a failed start is tried again by the next call.
   *
   * @throws AudioError `configuration_error` naming every fault, `store_unavailable`, …
   */
  async get(): Promise<Generation> {
    return (await this.#workflow()).generation;
  }

  /** As {@link get}. */
  async narrations(): Promise<Narrations> {
    return await (await this.#workflow()).narrations();
  }

  async #workflow(): Promise<Workflow> {
    this.#opening ??= this.#open();
    const opening = this.#opening;
    try {
      return await opening;
    } catch (error) {
      // Several calls hear of one failure, and the first of them may have begun another start already.
      if (this.#opening === opening) this.#opening = undefined;
      throw error;
    }
  }

  /**
   * The workflow where it is open, or where there is a ledger on this machine to be opened; otherwise `null`:
   * clients ask for lists at their start, and that must make nothing and connect to nothing.
   */
  async localGeneration(): Promise<Generation | null> {
    if (this.#opening !== undefined) return (await this.#opening).generation;
    const { faults, storeUrl, stateDir } = this.#config;
    const isHere = !this.#isSandbox && faults.length === 0 && storeUrl === null;
    return isHere && stateDir !== null && existsSync(join(stateDir, "ledger.sqlite"))
      ? await this.get()
      : null;
  }

  /** As {@link localGeneration}, for a call that somebody has made: a database elsewhere is asked, too. */
  async existingGeneration(): Promise<Generation | null> {
    const isElsewhere = this.#config.faults.length === 0 && this.#config.storeUrl !== null;
    return isElsewhere ? await this.get() : await this.localGeneration();
  }

  /** @throws AudioError `configuration_error` */
  assertConfigured(): void {
    if (this.#config.faults.length > 0) throw configurationError(this.#config);
  }

  async #open(): Promise<Workflow> {
    const { log } = this;
    if (log === undefined) throw new AudioError("configuration_error", "The server has no log yet.");
    this.assertConfigured();
    const config = this.#isSandbox ? await this.#sandboxConfig() : this.#config;
    if (config.service === null) throw configurationError(config);
    try {
      return await this.#compose(config, config.service, log);
    } catch (error) {
      // The next start brings a sandbox of its own.
      await this.#stopSandbox?.();
      this.#stopSandbox = undefined;
      throw error;
    }
  }

  async #sandboxConfig(): Promise<Config> {
    const { startPrivateSandbox } = await import("./private-sandbox.ts");
    const { service, stateDir, stop } = await startPrivateSandbox(this.#config);
    this.#stopSandbox = stop;
    this.#sandboxRedact = createRedact([service.apiKey]);
    return { ...this.#config, service, stateDir };
  }

  async close(): Promise<void> {
    const workflow = await this.#opening?.catch(() => undefined);
    await workflow?.close();
    await this.#stopSandbox?.();
  }
}
