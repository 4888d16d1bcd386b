/** Runs a command that uses the workflow: reads the settings, stops at Ctrl-C, and closes everything at the end. */
import { MAX_TIMER_MS } from "../clock.ts";
import type { Config } from "../config/config.ts";
import { listSecrets } from "../config/secrets.ts";
import { AudioError } from "../errors.ts";
import { createLog, createLogWriter } from "../log.ts";
import { createRedact } from "../redaction.ts";
import { commandError } from "./terminal-messages.ts";
import { readServerConfig, WorkflowProvider } from "./workflow-provider.ts";

export interface CommandContext {
  readonly config: Config;
  readonly provider: WorkflowProvider;
  /** Aborts on Ctrl-C, SIGTERM and SIGHUP. An abort stops the spending. */
  readonly signal: AbortSignal;
}

function createInterruptSignal(): AbortSignal {
  const controller = new AbortController();
  const stop = (): void => controller.abort(new Error("interrupted"));
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, stop);
  return controller.signal;
}

/**
 * Runs the work of a command.
 *
 * @param isSandbox whether to use a private sandbox in place of the configured service
 * @returns the exit code
 * @throws CommandError in place of an AudioError, in the words of a terminal
 */
export async function runWithWorkflow(
  isSandbox: boolean,
  work: (context: CommandContext) => Promise<number>,
): Promise<number> {
  const config = readServerConfig(process.env, isSandbox);
  const provider = new WorkflowProvider(config, isSandbox);
  const redactSecrets = createRedact(listSecrets(process.env));
  const redact = (text: string): string => provider.redact(redactSecrets(text));
  provider.log = createLog(config.logLevel, redact, createLogWriter(config.logFile));
  // Keep the process alive, because the timers of the workflow do not.
  const keepAlive = setInterval(() => undefined, MAX_TIMER_MS);
  try {
    return await work({ config, provider, signal: createInterruptSignal() });
  } catch (error) {
    if (!(error instanceof AudioError)) throw error;
    throw commandError(error, redact);
  } finally {
    await provider.close();
    clearInterval(keepAlive);
  }
}
