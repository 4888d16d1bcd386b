/** Owns the workflow's late start: built on the first call that needs it, from the environment's settings or a sandbox's. */
import type { Config } from "../config.ts";
import type { Environment } from "../environment.ts";
import { AudioError } from "../errors.ts";
import type { Generation } from "../generation/generation.ts";
import type { Log } from "../log.ts";
import { createRedact, type Redact } from "../redaction.ts";
import { configurationError } from "./settings.ts";

/**
 * The environment as `--sandbox` sees it: address, key, shared store and budget are its own. The address is a
 * stand-in on this machine until the sandbox listens; it lets loopback-only settings pass.
 */
export function sandboxEnvironment(env: Environment): Environment {
  return {
    ...env,
    AUDIO_BASE_URL: "http://127.0.0.1",
    AUDIO_API_KEY: "not-known-yet",
    AUDIO_STORE_URL: undefined,
    AUDIO_CREDIT_BUDGET: undefined,
  };
}

export class LazyGeneration {
  readonly #config: Config;
  readonly #isSandbox: boolean;
  #opening: Promise<Generation> | undefined;
  #stopSandbox: (() => Promise<void>) | undefined;
  #sandboxRedact: Redact = (text) => text;
  log: Log | undefined;

  constructor(config: Config, isSandbox: boolean) {
    this.#config = config;
    this.#isSandbox = isSandbox;
  }

  /** Blots out the sandbox's key, which is not known before it runs. */
  redact(text: string): string {
    return this.#sandboxRedact(text);
  }

  /**
   * The workflow; a failed start is tried again by the next call.
   *
   * @throws AudioError `configuration_error` naming every fault, `store_unavailable`, …
   */
  async get(): Promise<Generation> {
    this.#opening ??= this.#open();
    try {
      return await this.#opening;
    } catch (error) {
      this.#opening = undefined;
      throw error;
    }
  }

  /** @throws AudioError `configuration_error` */
  assertConfigured(): void {
    if (this.#config.faults.length > 0) throw configurationError(this.#config);
  }

  async #open(): Promise<Generation> {
    const { log } = this;
    if (log === undefined) throw new AudioError("configuration_error", "The server has no log yet.");
    this.assertConfigured();
    const config = this.#isSandbox ? await this.#sandboxConfig() : this.#config;
    if (config.service === null) throw configurationError(config);
    const { composeGeneration } = await import("./compose.ts");
    return await composeGeneration(config, config.service, log);
  }

  async #sandboxConfig(): Promise<Config> {
    const { startPrivateSandbox } = await import("./private-sandbox.ts");
    const { service, stateDir, stop } = await startPrivateSandbox(this.#config);
    this.#stopSandbox = stop;
    this.#sandboxRedact = createRedact([service.apiKey]);
    return { ...this.#config, service, stateDir };
  }

  async close(): Promise<void> {
    const generation = await this.#opening?.catch(() => undefined);
    await generation?.close();
    await this.#stopSandbox?.();
  }
}
