/** The `narrate` command: turns a text file into one audio file. Uses the same ledger as the server. */
import { MAX_TIMER_MS } from "../clock.ts";
import { readConfig } from "../config/config.ts";
import { listSecrets } from "../config/secrets.ts";
import { coerceArguments } from "../contract/coerce-arguments.ts";
import { AudioError } from "../errors.ts";
import { createLog } from "../log.ts";
import {
  describeNarration,
  formatChapterList,
  formatDuration,
  sumSeconds,
} from "../narration/narration-messages.ts";
import type { NarrationView } from "../narration/narration-view.ts";
import type { NarrateChanges, Narrations } from "../narration/narrations.ts";
import { createRedact } from "../redaction.ts";
import { toStructured } from "../tools/narrate.ts";
import {
  type NarrateArgs,
  narrateInput,
  narrateRules,
  readPlanArguments,
  toNarrateChanges,
} from "../tools/narrate-input.ts";
import { escapeForTerminal, renderTerminalJson } from "./escape-for-terminal.ts";
import { ProgressLine } from "./progress-line.ts";
import { readCommandInput } from "./read-command-input.ts";
import { commandError } from "./terminal-messages.ts";
import { UsageError } from "./usage-errors.ts";
import { WorkflowProvider } from "./workflow-provider.ts";

/**
 * The exit code if the narration was begun but is not finished when the command ends. Used only with `max_credits` or
 * `stop`, because other calls only ask for the status.
 */
const EXIT_UNFINISHED = 3;

export interface NarrateCommand {
  /** A path, or `-` for standard input. */
  readonly file: string;
  /** The tool's arguments without the text. */
  readonly args: Readonly<Record<string, unknown>>;
  readonly asJson: boolean;
}

/**
 * Checks the arguments by the rules of the tool. The rules require a source, so `file` gets a placeholder. The command
 * reads the file itself.
 *
 * @throws UsageError
 */
function parseArguments(toolArgs: Readonly<Record<string, unknown>>): NarrateArgs {
  const parsed = narrateRules.safeParse(coerceArguments({ ...toolArgs, file: "given" }, narrateInput));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const option = String(issue?.path[0] ?? "").replaceAll("_", "-");
  throw new UsageError(`--${option} ${issue?.message ?? "is wrong"}; see --help.`);
}

function describeTerminalNextStep(view: NarrationView): string | null {
  switch (view.status) {
    case "planned":
      return `To make it, give --max-credits ${Math.max(1, view.credits.suggestedMax)}, the most that it may cost.`;
    case "running":
      return "Another process makes it.";
    case "stopped":
      return `With --max-credits ${view.credits.suggestedMax} it goes on where it stopped, and pays for nothing twice.`;
    case "finished":
      return null;
  }
}

function describeFinished({ files, credits, isRepeat }: NarrationView): string {
  const length = formatDuration(sumSeconds(files));
  return isRepeat
    ? `${length} of audio. Cost ${credits.charged} credits in all (nothing for this call).`
    : `${length} of audio, ${credits.charged} credits.`;
}

/** Says what is true after Ctrl-C: this process ends, so what the service has accepted is not saved by it. */
function describeInterrupted({ parts, credits }: NarrationView): string {
  const saved = `Interrupted: ${parts.saved} of ${parts.total} parts saved, ${credits.charged} credits charged.`;
  const running =
    parts.running === 0
      ? ""
      : ` ${parts.running} ${parts.running === 1 ? "part is" : "parts are"} with the service${credits.pendingCharge === 0 ? "" : ` and will be charged, about ${credits.pendingCharge} credits`}; nothing of them is on this disk yet.`;
  return `${saved}${running} The same command with --max-credits ${credits.suggestedMax} fetches what was paid for, and goes on; it pays for nothing twice.`;
}

function report(view: NarrationView, asJson: boolean, wasInterrupted: boolean): void {
  if (wasInterrupted && !asJson && view.status !== "finished") {
    process.stdout.write(`${escapeForTerminal(describeInterrupted(view))}\n`);
    return;
  }
  if (asJson) {
    process.stdout.write(`${renderTerminalJson(toStructured(view))}\n`);
    return;
  }
  const files = view.status === "finished" ? view.files : [];
  const head = view.status === "finished" ? describeFinished(view) : describeNarration(view);
  const next = describeTerminalNextStep(view);
  const chapters = formatChapterList(view);
  const lines = [
    ...files.map(({ audio }) => audio.path),
    ...files.flatMap(({ beside }) => beside.map(({ path }) => path)),
    head,
    ...(chapters === "" ? [] : [chapters]),
    ...(next === null ? [] : [next]),
  ];
  process.stdout.write(`${lines.map(escapeForTerminal).join("\n")}\n`);
}

/**
 * Returns a signal that aborts on Ctrl-C, SIGTERM and SIGHUP. An abort stops the spending; accepted tasks are still
 * saved.
 */
function createInterruptSignal(): AbortSignal {
  const controller = new AbortController();
  const stop = (): void => controller.abort(new Error("interrupted"));
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, stop);
  return controller.signal;
}

async function runNarration(
  narrations: Narrations,
  source: Parameters<Narrations["narrate"]>[0],
  changes: NarrateChanges,
  signal: AbortSignal,
): Promise<NarrationView> {
  const line = new ProgressLine(process.stderr);
  const quiet = { signal: new AbortController().signal, waitMs: 0, onProgress: () => undefined };
  const planned = await narrations.narrate(source, { ...changes, maxCredits: null }, quiet);
  if (changes.maxCredits === null) return planned;
  const plannedSource = { kind: "narration", narrationId: planned.narrationId } as const;
  try {
    // Wait without a limit, because the command ends only when the narration ends.
    const call = { signal, waitMs: MAX_TIMER_MS, onProgress: (words: string) => line.show(words) };
    return await narrations.narrate(plannedSource, { ...changes, retakes: [] }, call);
  } catch (error) {
    if (!signal.aborted) throw error;
    return await narrations.narrate(plannedSource, { ...changes, maxCredits: null, retakes: [] }, quiet);
  } finally {
    line.end();
  }
}

/**
 * Plans or makes the narration, and prints the result.
 *
 * @returns the exit code
 * @throws UsageError if an option is wrong
 * @throws CommandError for issues of the settings, the file or the store
 */
export async function runNarrateCommand({ file, args, asJson }: NarrateCommand): Promise<number> {
  const checkedArgs = parseArguments(args);
  const config = readConfig(process.env);
  const provider = new WorkflowProvider(config, false);
  const redact = createRedact(listSecrets(process.env));
  provider.log = createLog(config.logLevel, redact);
  // Keep the process alive, because the timers of the workflow do not.
  const keepAlive = setInterval(() => undefined, MAX_TIMER_MS);
  try {
    const readInput = (): ReturnType<typeof readCommandInput> => readCommandInput(file);
    const source = await readPlanArguments(checkedArgs, {
      defaultVoice: config.defaultVoice,
      pronunciations: config.pronunciations.rules,
      readInput,
    });
    const narrations = await provider.narrations();
    const signal = createInterruptSignal();
    const changes = toNarrateChanges(checkedArgs);
    const view = await runNarration(narrations, source, changes, signal);
    report(view, asJson, signal.aborted);
    // A call with neither `max_credits` nor `stop` only asks for the status.
    const isStatusQuery = checkedArgs.max_credits === undefined && checkedArgs.stop !== true;
    return isStatusQuery || view.status === "finished" || view.status === "planned" ? 0 : EXIT_UNFINISHED;
  } catch (error) {
    if (!(error instanceof AudioError)) throw error;
    throw commandError(error, redact);
  } finally {
    await provider.close();
    clearInterval(keepAlive);
  }
}
