/** Starts and stops a sandbox, a local imitation of the audio service on one loopback port. */
import type { FastifyInstance } from "fastify";
import { type Account, AccountRegistry } from "./accounts/account-registry.ts";
import {
  type AccountsFile,
  buildDefaultAccounts,
  generateApiKey,
  parseAccounts,
} from "./accounts/accounts-file.ts";
import { sumAvailableCredits } from "./accounts/grants.ts";
import { AccountLimits } from "./accounts/limit-windows.ts";
import { type SandboxClock, systemClock } from "./clock.ts";
import { Faults } from "./faults.ts";
import { buildHttpApp } from "./http/app.ts";
import type { RouteDeps } from "./http/routes.ts";
import { SandboxUsageError } from "./sandbox-errors.ts";
import { createSpeechEngine, type SpeechEngine } from "./speech/speech.ts";
import { TaskProcessor } from "./tasks/task-processor.ts";
import { TaskRegistry } from "./tasks/task-registry.ts";

export { SandboxUsageError } from "./sandbox-errors.ts";

const HOST = "127.0.0.1";
/** Default processing time of a task, long enough for clients to see the states queued and processing. */
const DEFAULT_PROCESSING_SECONDS = 2;
const MAX_PROCESSING_SECONDS = 3600;

export interface SandboxOptions {
  /** The port to listen on. 0 (default) takes any free port. */
  port?: number;
  /** The accounts and their keys. Default: one account with a paid pack of a million credits and a generated key. */
  accounts?: AccountsFile;
  /** Minimum seconds from a task's creation to its end, 0 to 3600. Rendering may take longer. Default 2. */
  processingSeconds?: number;
  /** Factor for the 60 s rate limit windows, 0.001 to 1 (default). `Retry-After` is 60 at any factor. */
  timeScale?: number;
  /** The speech engine; the sandbox's own by default. `stop` closes it, even if the caller supplied it. */
  speech?: SpeechEngine;
  /** If false, accounts have no limits of their own. The limit of all accounts together still applies. Default true. */
  enforceLimits?: boolean;
  /** Replaces the system clock in tests. */
  clock?: SandboxClock;
  /** Receives internal errors, which clients see as 503 or a failed task. Default: writes them to stderr. */
  onInternalError?: (error: unknown) => void;
}

/** Credits of an account, summed over its grants. Unusable grants count in every sum except `available`. */
export interface AccountBalance {
  readonly accountId: string;
  readonly granted: number;
  readonly available: number;
  readonly reserved: number;
  readonly charged: number;
}

export interface RunningSandbox {
  /** The address `http://127.0.0.1:<port>`, without a slash at the end. */
  readonly baseUrl: string;
  /** The first active API key of the accounts. */
  readonly apiKey: string;
  /**
   * Returns every account's current credits. Tests use this method to check charges, because the contract defines no
   * request for balances.
   */
  balances(): AccountBalance[];
  /**
   * Closes every connection and the speech engine. Tasks, balances and audio are lost, because they are only in memory.
   */
  stop(): Promise<void>;
}

function requireBetween(name: string, value: number, minimum: number, maximum: number): void {
  if (!(value >= minimum && value <= maximum)) {
    throw new SandboxUsageError(`The ${name} must be from ${minimum} to ${maximum}.`);
  }
}

function computeBalance({ id, grants }: Account, wallMs: number): AccountBalance {
  const sum = (field: "credits" | "reserved" | "charged"): number =>
    grants.reduce((total, grant) => total + grant[field], 0);
  return {
    accountId: id,
    granted: sum("credits"),
    available: sumAvailableCredits(grants, wallMs),
    reserved: sum("reserved"),
    charged: sum("charged"),
  };
}

async function listen(app: FastifyInstance, port: number): Promise<string> {
  try {
    return await app.listen({ host: HOST, port });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "EADDRINUSE") throw new SandboxUsageError(`Port ${port} on ${HOST} is already in use.`);
    if (code === "EACCES")
      throw new SandboxUsageError(`Port ${port} on ${HOST} may not be opened by this user.`);
    throw error;
  }
}

function reportInternalError(error: unknown): void {
  process.stderr.write(
    `sandbox: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
}

/**
 * Starts a local service that implements the whole contract.
 *
 * @throws SandboxUsageError if the port cannot be opened or an option is invalid
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<RunningSandbox> {
  const { port = 0, processingSeconds = DEFAULT_PROCESSING_SECONDS, timeScale = 1 } = options;
  const { clock = systemClock, enforceLimits = true, onInternalError = reportInternalError } = options;
  requireBetween("port", port, 0, 65_535);
  if (!Number.isInteger(port)) throw new SandboxUsageError("The port must be a whole number.");
  requireBetween("processing time in seconds", processingSeconds, 0, MAX_PROCESSING_SECONDS);
  requireBetween("time scale", timeScale, 0.001, 1);
  const accounts =
    options.accounts === undefined
      ? buildDefaultAccounts(generateApiKey())
      : parseAccounts(options.accounts, "accounts list");

  /**
   * Functions that close what has been opened so far. They run in reverse order when the sandbox stops or a later step
   * fails.
   */
  const closers: Array<() => unknown> = [];
  const closeAll = async (): Promise<void> => {
    for (const close of closers.splice(0).reverse()) await close();
  };
  try {
    const accountRegistry = new AccountRegistry(accounts);
    const faults = new Faults();
    const tasks = new TaskRegistry({ clock, faults, enforcesConcurrencyLimit: enforceLimits });
    const engine = options.speech ?? createSpeechEngine();
    closers.push(() => engine.close());
    const processor = new TaskProcessor({ clock, engine, tasks, processingSeconds, onInternalError });
    closers.push(() => processor.stop());
    let baseUrl = "";
    const routeDeps: RouteDeps = {
      accountRegistry,
      faults,
      limits: new AccountLimits({ clock, timeScale, isEnforced: enforceLimits }),
      tasks,
      processor,
      baseUrl: () => baseUrl,
      onInternalError,
    };
    const app = buildHttpApp(routeDeps);
    closers.push(() => app.close());
    baseUrl = await listen(app, port);
    let stopping: Promise<void> | undefined;
    return {
      baseUrl,
      apiKey: accountRegistry.firstActiveKey,
      balances: () => accountRegistry.accounts.map((account) => computeBalance(account, clock.wallMs())),
      stop: () => {
        stopping ??= closeAll();
        return stopping;
      },
    };
  } catch (error) {
    await closeAll();
    throw error;
  }
}
