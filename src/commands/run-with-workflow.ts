/** Runs a command that uses the workflow: reads the settings, stops at Ctrl-C, and closes everything at the end. */
import { MAX_TIMER_MS } from "../clock.ts";
import { AudioError } from "../errors.ts";
import { BadArgumentsError } from "../tools/tool.ts";
import { commandError } from "./terminal-messages.ts";
import { argumentError } from "./usage-errors.ts";
import { WorkflowProvider } from "./workflow-provider.ts";

export interface CommandContext {
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
 * @throws CommandError in place of an AudioError, in the words of a terminal; UsageError in place of a
 *   BadArgumentsError
 */
export async function runWithWorkflow(
  isSandbox: boolean,
  work: (context: CommandContext) => Promise<number>,
): Promise<number> {
  const provider = new WorkflowProvider(process.env, isSandbox);
  // Keep the process alive, because the timers of the workflow do not.
  const keepAlive = setInterval(() => undefined, MAX_TIMER_MS);
  try {
    return await work({ provider, signal: createInterruptSignal() });
  } catch (error) {
    if (error instanceof BadArgumentsError) throw argumentError(error.issues);
    if (!(error instanceof AudioError)) throw error;
    throw commandError(error, provider.redact);
  } finally {
    await provider.close();
    clearInterval(keepAlive);
  }
}
