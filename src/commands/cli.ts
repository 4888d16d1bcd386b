/** Runs the command named in argv and sets the exit code. Loads only the code of that command. */
import { findNearestName } from "../contract/nearest-names.ts";
import { VERSION } from "../version.ts";
import { CommandError, UsageError } from "./usage-errors.ts";

/** Returns the error for `--sandbox` together with a command that reads a ledger. Its message says what works instead. */
const sandboxWithCommandError = (command: string): UsageError =>
  new UsageError(
    `${command} and --sandbox do not go together: the sandbox of --sandbox lives and ends with its process. Run "sandbox" instead, leave it running, and give ${command} what it prints as AUDIO_BASE_URL and AUDIO_API_KEY; see "sandbox --help".`,
  );

const FALLBACK_COLUMNS = 80;

const isHelp = (arg: string): boolean => arg === "--help" || arg === "-h";

/** Runs a command of a terminal, or prints help. The table is loaded here, because a server start does not need it. */
async function runCommand(first: string, rest: readonly string[]): Promise<void> {
  const [{ COMMANDS }, { renderCommandHelp, renderHelp }] = await Promise.all([
    import("./command-table.ts"),
    import("./command-line.ts"),
  ]);
  const columns = process.stdout.columns ?? FALLBACK_COLUMNS;
  const asksForHelp = first === "help" || isHelp(first);
  const name = asksForHelp && rest[0] !== undefined ? rest[0] : first;
  const command = COMMANDS.find((each) => each.name === name);
  if (asksForHelp && rest.length === 0) {
    const { listSettingNames } = await import("../config/config.ts");
    process.stdout.write(renderHelp(COMMANDS, listSettingNames(), columns));
    return;
  }
  if (command === undefined) {
    const names = [...COMMANDS.map((each) => each.name), "--sandbox", "--help", "--version"];
    // A longer ending, as in "naration", leaves the beginning alone.
    const nearest =
      findNearestName(name, names) ??
      names.find((each) => name.length > 3 && each.startsWith(name.slice(0, 3)));
    throw new UsageError(
      `${JSON.stringify(name)} is not a command${nearest === undefined ? "" : `; ${nearest} is one`}; see --help.`,
    );
  }
  if (asksForHelp || rest.some(isHelp)) {
    process.stdout.write(renderCommandHelp(command, columns));
    return;
  }
  if (rest.includes("--sandbox") && !Object.hasOwn(command.options, "sandbox") && name !== "sandbox")
    throw sandboxWithCommandError(name);
  const code = await command.run(rest);
  if (code !== undefined) process.exitCode = code;
}

async function dispatch([first, ...rest]: readonly string[]): Promise<void> {
  if (first === undefined || (first === "--sandbox" && rest.length === 0)) {
    const { runServer } = await import("./serve.ts");
    runServer(first === "--sandbox");
    return;
  }
  // A command may stand behind its option.
  if (first === "--sandbox") {
    const [command = "", ...args] = rest;
    return await runCommand(command, [...args, first]);
  }
  if (first === "version" || first === "--version" || first === "-v") {
    if (rest.length > 0) throw new UsageError(`${first} takes nothing after it; see --help.`);
    process.stdout.write(`${VERSION}\n`);
    return;
  }
  await runCommand(first, rest);
}

/**
 * Ignores the error that occurs if the reader closes the output early, as in `doctor | head -1`. The exit code remains
 * that of the command.
 */
function ignoreClosedReader(error: Error): void {
  if (!("code" in error && error.code === "EPIPE")) throw error;
}

/**
 * Runs the command named in argv. Exit code 2 means wrong usage, and exit code 1 means that the command failed. In both
 * cases one sentence is printed.
 */
export async function run(args: readonly string[]): Promise<void> {
  // Handle a closed stdout here, except for the server, which handles a closed stdout itself.
  const isServing = args.length === 0 || (args[0] === "--sandbox" && args.length === 1);
  if (!isServing) process.stdout.on("error", ignoreClosedReader);
  try {
    await dispatch(args);
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof CommandError)) throw error;
    process.stderr.write(`audio-generation-mcp: ${error.message}\n`);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
}
