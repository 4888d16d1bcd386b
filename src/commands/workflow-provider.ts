/** Builds the workflow on first use, for the configured service or a sandbox. */
import { existsSync } from "node:fs";
import { type Config, configurationError, readConfig } from "../config/config.ts";
import { listCertainSecrets, listSecrets } from "../config/secrets.ts";
import type { Environment } from "../environment.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { buildLedgerPath } from "../ledger/sqlite/ledger-path.ts";
import { createLog, createLogWriter, type Log } from "../log.ts";
import type { Narrations } from "../narration/narrations.ts";
import { createRedact, type Redact } from "../redaction.ts";
import type { Requests } from "../requests/requests.ts";
import type { composeWorkflow, Workflow } from "./compose.ts";

/**
 * Returns the environment for `--sandbox`. Replaces address and key by placeholders, because the real ones are known
 * only when the sandbox listens. The placeholder address is on loopback, so that settings that require loopback are
 * valid. Removes AUDIO_STORE_URL, because the sandbox has a ledger of its own.
 */
function buildSandboxEnvironment(env: Environment): Environment {
  return {
    ...env,
    AUDIO_BASE_URL: "http://127.0.0.1",
    AUDIO_API_KEY: "not-known-yet",
    AUDIO_STORE_URL: undefined,
  };
}

type Compose = typeof composeWorkflow;

/** Loads the code of the workflow on demand, so that a start does not wait for it. */
const composeOnDemand: Compose = async (...args) => (await import("./compose.ts")).composeWorkflow(...args);

/**
 * Gives access to the settings, the log and the workflow of a server or command. The workflow is built at the first call
 * that needs it and then shared by all calls. With `--sandbox`, that call also starts a private sandbox.
 * {@link WorkflowProvider.close} closes the workflow and stops the sandbox.
 */
export class WorkflowProvider {
  readonly config: Config;
  readonly log: Log;
  readonly #redactSecrets: Redact;
  readonly #isSandbox: boolean;
  readonly #compose: Compose;
  #opening: Promise<Workflow> | undefined;
  #stopSandbox: (() => Promise<void>) | undefined;
  #sandboxRedact: Redact = (text) => text;

  /**
   * @param isSandbox whether to use a private sandbox in place of the configured service
   * @param writeLog writes a line of the log; to standard error if absent
   */
  constructor(
    env: Environment,
    isSandbox: boolean,
    writeLog?: (line: string) => void,
    compose: Compose = composeOnDemand,
  ) {
    this.#isSandbox = isSandbox;
    this.#compose = compose;
    this.#redactSecrets = createRedact(listSecrets(env));
    this.config = isSandbox
      ? { ...readConfig(buildSandboxEnvironment(env)), certainSecrets: listCertainSecrets(env) }
      : readConfig(env);
    this.log = createLog(this.config.logLevel, this.redact, createLogWriter(this.config.logFile, writeLog));
  }

  /** Removes the secrets of the settings from a text, and the sandbox's key once the sandbox runs. */
  readonly redact: Redact = (text) => this.#sandboxRedact(this.#redactSecrets(text));

  /**
   * Returns the use cases of single requests. All calls share one workflow. If its start failed, the next call starts
   * it again.
   *
   * @throws AudioError `configuration_error` with every issue, `store_unavailable`, …
   */
  async requests(): Promise<Requests> {
    return (await this.#workflow()).requests;
  }

  /** Returns the use cases of narrations. Starts the workflow and throws as {@link requests} does. */
  async narrations(): Promise<Narrations> {
    return await (await this.#workflow()).narrations();
  }

  /** Returns the ledger. Starts the workflow and throws as {@link requests} does. */
  async ledger(): Promise<Ledger> {
    return (await this.#workflow()).ledger;
  }

  async #workflow(): Promise<Workflow> {
    this.#opening ??= this.#open();
    const opening = this.#opening;
    try {
      return await opening;
    } catch (error) {
      // Forget the failed start, so that the next call tries again. Keep a newer start, which another call may already
      // have begun.
      if (this.#opening === opening) this.#opening = undefined;
      throw error;
    }
  }

  /**
   * Returns the use cases of single requests if the workflow was already started, or if this machine has a ledger.
   * Otherwise returns `null`, and neither creates a ledger nor connects to a database. Used for the lists that clients
   * request when they start.
   */
  async openLocalRequests(): Promise<Requests | null> {
    if (this.#opening !== undefined) return (await this.#opening).requests;
    const { issues, storeUrl, stateDir } = this.config;
    const isHere = !this.#isSandbox && issues.length === 0 && storeUrl === null;
    return isHere && stateDir !== null && existsSync(buildLedgerPath(stateDir))
      ? await this.requests()
      : null;
  }

  /**
   * Does the same as {@link openLocalRequests}, but also connects to the database of `AUDIO_STORE_URL`. Used for tool
   * calls.
   */
  async openExistingRequests(): Promise<Requests | null> {
    const isElsewhere = this.config.issues.length === 0 && this.config.storeUrl !== null;
    return isElsewhere ? await this.requests() : await this.openLocalRequests();
  }

  /**
   * Checks that the settings are usable.
   *
   * @throws AudioError `configuration_error`
   */
  assertConfigured(): void {
    if (this.config.issues.length > 0) throw configurationError(this.config);
  }

  async #open(): Promise<Workflow> {
    this.assertConfigured();
    const config = this.#isSandbox ? await this.#sandboxConfig() : this.config;
    if (config.serviceAccess === null) throw configurationError(config);
    try {
      return await this.#compose(config, config.serviceAccess, this.log);
    } catch (error) {
      // Stop the sandbox of the failed start, because the next start creates its own sandbox.
      await this.#stopSandbox?.();
      this.#stopSandbox = undefined;
      throw error;
    }
  }

  async #sandboxConfig(): Promise<Config> {
    const { startPrivateSandbox } = await import("./private-sandbox.ts");
    const { service, stateDir, stop } = await startPrivateSandbox(this.config);
    this.#stopSandbox = stop;
    this.#sandboxRedact = createRedact([service.apiKey]);
    return { ...this.config, serviceAccess: service, stateDir };
  }

  async close(): Promise<void> {
    const workflow = await this.#opening?.catch(() => undefined);
    await workflow?.close();
    await this.#stopSandbox?.();
  }
}
