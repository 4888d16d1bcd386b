/** Runs the command named in argv and sets the exit code. Loads only the code of that command. */
import { parseArgs } from "node:util";
import { parseDecimal } from "../contract/decimal.ts";
import { VERSION } from "../version.ts";
import { CommandError, UsageError } from "./usage-errors.ts";

type Options = NonNullable<Parameters<typeof parseArgs>[0]>["options"];

function parseOptions(args: readonly string[], options: NonNullable<Options>) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: false, strict: true }).values;
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split(/\.\s|\n/)[0] ?? "") : String(error);
    throw new UsageError(`${reason.replace(/\.$/, "")}; see --help.`);
  }
}

function parseNumberOption(
  name: string,
  value: unknown,
  minimum: number,
  maximum: number,
): number | undefined {
  if (value === undefined) return undefined;
  const number = typeof value === "string" ? (parseDecimal(value) ?? Number.NaN) : Number.NaN;
  if (number >= minimum && number <= maximum) return number;
  throw new UsageError(`--${name} must be a number from ${minimum} to ${maximum}; see --help.`);
}

async function runSandbox(args: readonly string[]): Promise<void> {
  const text = { type: "string" } as const;
  const values = parseOptions(args, {
    port: text,
    accounts: text,
    "processing-seconds": text,
    "time-scale": text,
  });
  const port = parseNumberOption("port", values["port"], 0, 65_535);
  if (port !== undefined && !Number.isInteger(port)) {
    throw new UsageError("--port must be a whole number from 0 to 65535; see --help.");
  }
  const { runSandboxCommand } = await import("./sandbox-command.ts");
  await runSandboxCommand({
    port,
    accountsFile: typeof values["accounts"] === "string" ? values["accounts"] : undefined,
    processingSeconds: parseNumberOption("processing-seconds", values["processing-seconds"], 0, 3600),
    timeScale: parseNumberOption("time-scale", values["time-scale"], 0.001, 1),
  });
}

/** Returns the error for `--sandbox` together with a command. Its message says what works instead. */
function sandboxWithCommandError(command: string): UsageError {
  return new UsageError(
    `${command} and --sandbox do not go together: the sandbox of --sandbox lives and ends with its server. Run "sandbox" instead, leave it running, and give ${command} what it prints as AUDIO_BASE_URL and AUDIO_API_KEY; see --help.`,
  );
}

/** Commands that accept `--help`; all print the same help. */
const COMMANDS: readonly string[] = ["sandbox", "doctor", "tasks", "voices", "narrate"];

/** Prints the help. Loads it on demand, because a server start does not need it. */
async function printHelp(): Promise<void> {
  const { HELP } = await import("./help.ts");
  process.stdout.write(HELP);
}

async function dispatch(args: readonly string[]): Promise<void> {
  const [first, ...rest] = args;
  const json = { json: { type: "boolean" } } as const;
  if (COMMANDS.includes(first ?? "") && rest.some((arg) => arg === "--help" || arg === "-h")) {
    await printHelp();
    return;
  }
  const command = COMMANDS.find((name) => name !== "sandbox" && args.includes(name));
  if (command !== undefined && (first === "--sandbox" || (first === command && rest.includes("--sandbox")))) {
    throw sandboxWithCommandError(command);
  }
  switch (first) {
    case undefined:
    case "--sandbox": {
      if (rest.length > 0) throw new UsageError(`${first} takes nothing after it; see --help.`);
      const { runServer } = await import("./serve.ts");
      runServer(first === "--sandbox");
      return;
    }
    case "help":
    case "version":
    case "--help":
    case "-h":
    case "--version":
    case "-v":
      if (rest.length > 0) throw new UsageError(`${first} takes nothing after it; see --help.`);
      if (/h(?:elp)?$/.test(first)) await printHelp();
      else process.stdout.write(`${VERSION}\n`);
      return;
    case "sandbox":
      await runSandbox(rest);
      return;
    case "doctor": {
      const { runDoctorCommand } = await import("./doctor-command.ts");
      process.exitCode = await runDoctorCommand(parseOptions(rest, json)["json"] === true);
      return;
    }
    case "tasks": {
      const { json: asJson, html } = parseOptions(rest, { ...json, html: { type: "string" } });
      if (html === "" || (html !== undefined && asJson === true)) {
        throw new UsageError("--html takes a file, and does not go with --json; see --help.");
      }
      const { runTasksCommand } = await import("./tasks-command.ts");
      await runTasksCommand(asJson === true, typeof html === "string" ? html : undefined);
      return;
    }
    case "voices": {
      const { sample, html } = parseOptions(rest, { sample: { type: "boolean" }, html: { type: "string" } });
      if (html === "") throw new UsageError("--html takes a file; see --help.");
      const { runVoicesCommand } = await import("./voices-command.ts");
      process.exitCode = await runVoicesCommand({
        makesSamples: sample === true,
        htmlFile: typeof html === "string" ? html : undefined,
      });
      return;
    }
    case "narrate": {
      const { parseNarrateCommand } = await import("./narrate-options.ts");
      const command = parseNarrateCommand(rest);
      const { runNarrateCommand } = await import("./narrate-command.ts");
      process.exitCode = await runNarrateCommand(command);
      return;
    }
    default:
      throw new UsageError(`${JSON.stringify(first)} is not a command; see --help.`);
  }
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
  const isServing = args.length === 0 || args[0] === "--sandbox";
  if (!isServing) process.stdout.on("error", ignoreClosedReader);
  try {
    await dispatch(args);
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof CommandError)) throw error;
    process.stderr.write(`audio-generation-mcp: ${error.message}\n`);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
}
