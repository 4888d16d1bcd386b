/** The `sandbox` command: runs the sandbox alone until it receives a signal. */
import { loadSandbox } from "./sandbox-loader.ts";
import { CommandError } from "./usage-errors.ts";

export interface SandboxCommandOptions {
  readonly port: number | undefined;
  readonly accountsFile: string | undefined;
  readonly processingSeconds: number | undefined;
  readonly timeScale: number | undefined;
}

/** Runs the sandbox. Prints one JSON line on stdout when the sandbox listens, and nothing else. */
export async function runSandboxCommand(command: SandboxCommandOptions): Promise<void> {
  const { SandboxUsageError, startSandbox } = await loadSandbox();
  const { readAccountsFile } = await import("../sandbox/accounts/accounts-file.ts");
  const { port, accountsFile, processingSeconds, timeScale } = command;
  try {
    const running = await startSandbox({
      ...(port === undefined ? {} : { port }),
      ...(accountsFile === undefined ? {} : { accounts: await readAccountsFile(accountsFile) }),
      ...(processingSeconds === undefined ? {} : { processingSeconds }),
      ...(timeScale === undefined ? {} : { timeScale }),
    });
    const stop = (): void => {
      running.stop().finally(() => process.exit(0));
    };
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.once(signal, stop);
    // Stop if stdout has no reader, because nobody then knows the address of the sandbox.
    process.stdout.once("error", stop);
    // A closed stderr must not stop the sandbox.
    process.stderr.on("error", () => undefined);
    process.stdout.write(`${JSON.stringify({ base_url: running.baseUrl, api_key: running.apiKey })}\n`);
  } catch (error) {
    if (error instanceof SandboxUsageError) throw new CommandError(error.message);
    throw error;
  }
}
