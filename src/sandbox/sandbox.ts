/** Starts and stops a sandbox: puts its parts together on one loopback port. */
import type { FastifyInstance } from "fastify";
import {
  type AccountsFile,
  defaultAccounts,
  generateApiKey,
  parseAccounts,
} from "./accounts/accounts-file.ts";
import { type Account, AccountDirectory } from "./accounts/directory.ts";
import { availableCredits } from "./accounts/grants.ts";
import { AccountLimits } from "./accounts/limit-windows.ts";
import { type SandboxClock, systemClock } from "./clock.ts";
import { Faults } from "./faults.ts";
import { buildHttpApp } from "./http/app.ts";
import type { Site } from "./http/site.ts";
import { createSpeechEngine, type SpeechEngine } from "./speech/speech.ts";
import { Generator } from "./tasks/generator.ts";
import { TaskRegistry } from "./tasks/task-registry.ts";
import { SandboxUsageError } from "./usage-error.ts";

export { SandboxUsageError } from "./usage-error.ts";

const HOST = "127.0.0.1";
/** Long enough for clients to see the states queued and processing. */
const DEFAULT_PROCESSING_SECONDS = 2;
const PROCESSING_SECONDS_MAX = 3600;

export interface SandboxOptions {
  /** 0 (default): whichever port is free. */
  port?: number;
  /** Default: one account with a paid pack of a million credits and one generated key. */
  accounts?: AccountsFile;
  /** From creation to the end of a task, 0 to 3600; speech may take longer. Default 2. */
  processingSeconds?: number;
  /** 0.001 to 1 (default): multiplies the 60 s limit windows; `Retry-After` still says 60. */
  timeScale?: number;
  /** Default: the sandbox's own voices. Closed at stop, also when given. */
  speech?: SpeechEngine;
  /** False lifts the limits per account (not the site's capacity). Default true. */
  enforceLimits?: boolean;
  /** Time, for tests. */
  clock?: SandboxClock;
  /** Receives internal errors, which clients see as 503 or a failed task. Default: one line on stderr. */
  onFault?: (error: unknown) => void;
}

/** Credits of an account over all its grants. Invariant: granted = left + reserved + charged, including expired grants. */
export interface AccountBalance {
  readonly accountId: string;
  readonly granted: number;
  readonly available: number;
  readonly reserved: number;
  readonly charged: number;
}

export interface RunningSandbox {
  /** `http://127.0.0.1:<port>`, no slash at the end. */
  readonly baseUrl: string;
  /** The first active key of the accounts. */
  readonly apiKey: string;
  /** Every account's credits at this moment; no part of the contract, for tests that count them. */
  balances(): AccountBalance[];
  /** Closes every connection and ends the speech engine. Tasks, balances and audio are in memory, so they are lost. */
  stop(): Promise<void>;
}

function requireBetween(name: string, value: number, minimum: number, maximum: number): void {
  if (!(value >= minimum && value <= maximum)) {
    throw new SandboxUsageError(`The ${name} must be from ${minimum} to ${maximum}.`);
  }
}

function balanceOf({ id, grants }: Account, wallMs: number): AccountBalance {
  const sum = (field: "credits" | "reserved" | "charged"): number =>
    grants.reduce((total, grant) => total + grant[field], 0);
  return {
    accountId: id,
    granted: sum("credits"),
    available: availableCredits(grants, wallMs),
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

function reportFault(error: unknown): void {
  process.stderr.write(
    `sandbox: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
}

/**
 * Starts a complete service of the contract on a loopback port.
 *
 * @throws SandboxUsageError for a taken port, bad accounts or numbers
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<RunningSandbox> {
  const { port = 0, processingSeconds = DEFAULT_PROCESSING_SECONDS, timeScale = 1 } = options;
  const { clock = systemClock, enforceLimits = true, onFault = reportFault } = options;
  requireBetween("port", port, 0, 65_535);
  if (!Number.isInteger(port)) throw new SandboxUsageError("The port must be a whole number.");
  requireBetween("processing time in seconds", processingSeconds, 0, PROCESSING_SECONDS_MAX);
  requireBetween("time scale", timeScale, 0.001, 1);
  const accounts =
    options.accounts === undefined
      ? defaultAccounts(generateApiKey())
      : parseAccounts(options.accounts, "accounts list");

  /** Open resources, closed in reverse order at stop or when a later step fails. */
  const closers: Array<() => unknown> = [];
  const closeAll = async (): Promise<void> => {
    for (const close of closers.splice(0).reverse()) await close();
  };
  try {
    const directory = new AccountDirectory(accounts);
    const faults = new Faults();
    const tasks = new TaskRegistry({ clock, faults, enforceLimits });
    const engine = options.speech ?? createSpeechEngine();
    closers.push(() => engine.close());
    const generator = new Generator({ clock, engine, tasks, processingSeconds, onFault });
    closers.push(() => generator.stop());
    let baseUrl = "";
    const site: Site = {
      directory,
      faults,
      limits: new AccountLimits({ clock, timeScale, enforced: enforceLimits }),
      tasks,
      generator,
      baseUrl: () => baseUrl,
      onFault,
    };
    const app = buildHttpApp(site);
    closers.push(() => app.close());
    baseUrl = await listen(app, port);
    let stopping: Promise<void> | undefined;
    return {
      baseUrl,
      apiKey: directory.firstActiveKey,
      balances: () => directory.accounts.map((account) => balanceOf(account, clock.wallMs())),
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
