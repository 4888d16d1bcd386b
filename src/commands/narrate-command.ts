/** The `narrate` command: turns a text file into one audio file. Uses the same ledger as the server. */
import { createReadStream } from "node:fs";
import { basename } from "node:path";
import { MAX_TIMER_MS } from "../clock.ts";
import { coerceArguments } from "../contract/coerce-arguments.ts";
import { AudioError } from "../errors.ts";
import { describeUnreadable } from "../files/input-folder.ts";
import { assertReadKind, findFormatOfName, type NarrationInput, readInput } from "../files/input-format.ts";
import type { NarrateChanges } from "../narration/narration-answers.ts";
import { describeNarration, sumSeconds } from "../narration/narration-messages.ts";
import { describeNarrationNextStep } from "../narration/narration-next-steps.ts";
import type { NarrationView } from "../narration/narration-view.ts";
import type { Narrations } from "../narration/narrations.ts";
import { formatChapterList } from "../narration/plan-messages.ts";
import { formatDuration } from "../narration/quantity-words.ts";
import type { Call } from "../requests/call.ts";
import { toStructured } from "../tools/narrate.ts";
import {
  type NarrateArgs,
  narrateInput,
  narrateRules,
  readPlanArguments,
  toNarrateChanges,
} from "../tools/narrate-input.ts";
import { ProgressLine } from "./progress-line.ts";
import { runWithWorkflow } from "./run-with-workflow.ts";
import { escapeForTerminal, renderTerminalJson } from "./terminal-messages.ts";
import { argumentError, UsageError } from "./usage-errors.ts";

/**
 * The exit code if the narration is not finished when the command ends. Used only with `max_credits`, or with `stop` for
 * a narration that was begun, because other calls only ask for the status.
 */
const EXIT_UNFINISHED = 3;

export interface NarrateCommand {
  /** A path, or `-` for standard input. */
  readonly file: string;
  /** The tool's arguments without the text. */
  readonly args: Readonly<Record<string, unknown>>;
  readonly asJson: boolean;
  readonly isSandbox: boolean;
}

/**
 * Checks the arguments by the rules of the tool. The rules require a source, so `file` gets a placeholder. The command
 * reads the file itself.
 *
 * @throws UsageError
 */
function parseArguments(toolArgs: Readonly<Record<string, unknown>>): NarrateArgs {
  if (Number(toolArgs["max_credits"]) === 0)
    throw new UsageError("--max-credits 0 pays for nothing; without it, narrate names the price");
  const parsed = narrateRules.safeParse(coerceArguments({ ...toolArgs, file: "given" }, narrateInput));
  if (parsed.success) return parsed.data;
  throw argumentError(parsed.error);
}

const STANDARD_INPUT = "-";

/**
 * Reads a text file or standard input. Any folder is allowed, because the user typed the path. A file with an unknown extension is read as plain text, but
 * one of a known kind that the tool refuses is refused here, too.
 *
 * @param file a path, or `-` for standard input, which is read as Markdown
 * @throws AudioError `invalid_request`, which says what is wrong with the file
 */
async function readCommandInput(file: string): Promise<NarrationInput> {
  const isStandardInput = file === STANDARD_INPUT;
  const name = isStandardInput ? "Standard input" : file;
  if (!isStandardInput) assertReadKind(file, file);
  const stream = isStandardInput ? process.stdin : createReadStream(file);
  try {
    const format = isStandardInput ? "markdown" : (findFormatOfName(file) ?? "plain");
    return await readInput(stream, format, name);
  } catch (error) {
    if (error instanceof AudioError) throw error;
    throw new AudioError("invalid_request", `${name} ${describeUnreadable(error)}.`, { cause: error });
  }
}

/**
 * Says what is true after Ctrl-C: this process ends, so what the service has accepted, or may have, is not saved by it.
 */
function describeInterrupted({ parts, credits }: NarrationView, isSandbox: boolean): string {
  if (isSandbox)
    return "Interrupted. The sandbox ended with the command; nothing was spent, and the same command begins again.";
  const saved = `Interrupted: ${parts.saved} of ${parts.total} parts saved, ${credits.charged} credits charged.`;
  const running =
    parts.running === 0
      ? ""
      : ` ${parts.running} ${parts.running === 1 ? "part is" : "parts are"} with the service${credits.pendingCharge === 0 ? "" : ` and will be charged, about ${credits.pendingCharge} credits`}; nothing of them is on this disk yet.`;
  const command = `The same command with --max-credits ${credits.suggestedMax}`;
  if (parts.running > 0)
    return `${saved}${running} ${command} fetches what was paid for, and goes on; it pays for nothing twice.`;
  if (credits.reserved > 0)
    return `${saved} ${credits.reserved} credits stay reserved for what has no answer yet, or is not needed any more. ${command} finds out what was made of it, and goes on; it pays for nothing twice.`;
  if (parts.saved + parts.failed + credits.charged > 0)
    return `${saved} Nothing is with the service. ${command} goes on, and pays for nothing twice.`;
  return `${saved} Nothing was sent. The same command begins again.`;
}

function report(
  view: NarrationView,
  { asJson, isSandbox }: Pick<NarrateCommand, "asJson" | "isSandbox">,
  wasInterrupted: boolean,
): void {
  if (wasInterrupted && !asJson && view.status !== "finished") {
    process.stdout.write(`${escapeForTerminal(describeInterrupted(view, isSandbox))}\n`);
    return;
  }
  if (asJson) {
    process.stdout.write(`${renderTerminalJson(toStructured(view))}\n`);
    return;
  }
  const files = view.status === "finished" ? view.files : [];
  const isHere = view.status === "finished" && view.missingPaths.length === 0;
  // The paths stand above it.
  const length = isHere ? `${formatDuration(sumSeconds(files))} of audio.` : undefined;
  const head = describeNarration(view, length, "terminal");
  const next = describeNarrationNextStep(view).terminal;
  const chapters = formatChapterList(view, "terminal");
  const lines = [
    ...files.map(({ audio }) => audio.path),
    ...files.flatMap(({ beside }) => beside.map(({ path }) => path)),
    head,
    ...(chapters === "" ? [] : [chapters]),
    ...(next === "" ? [] : [next]),
  ];
  process.stdout.write(`${lines.map(escapeForTerminal).join("\n")}\n`);
}

async function runNarration(
  narrations: Narrations,
  source: Parameters<Narrations["narrate"]>[0],
  changes: NarrateChanges,
  signal: AbortSignal,
  isSandbox: boolean,
): Promise<NarrationView> {
  const quiet = { signal: new AbortController().signal, waitMs: 0, onProgress: () => undefined };
  const withoutLimit = { ...changes, maxCredits: null };
  if (changes.maxCredits === null) return await narrations.narrate(source, withoutLimit, quiet);
  // Costs nothing, and its ledger ends with this command, so that no second run could agree.
  if (isSandbox) await narrations.narrate(source, withoutLimit, quiet);
  const line = new ProgressLine(process.stderr);
  try {
    // Wait without a limit, because the command ends only when the narration ends.
    const onProgress: Call["onProgress"] = (words, _, staysTrue) =>
      staysTrue === true ? line.keep(words) : line.show(words);
    const call = { signal, waitMs: MAX_TIMER_MS, onProgress };
    return await narrations.narrate(
      source,
      { ...changes, takesAnyLimit: isSandbox, isTypedAgain: true },
      call,
    );
  } catch (error) {
    if (!signal.aborted) throw error;
    return await narrations.narrate(source, { ...withoutLimit, retakes: [] }, quiet);
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
export async function runNarrateCommand({ file, args, asJson, isSandbox }: NarrateCommand): Promise<number> {
  const checkedArgs = parseArguments(args);
  return await runWithWorkflow(isSandbox, async ({ provider, signal }) => {
    const { defaultVoice, pronunciations } = provider.config;
    const read = await readPlanArguments(checkedArgs, {
      defaultVoice,
      pronunciations: pronunciations.rules,
      readInput: () => readCommandInput(file),
    });
    const source = { ...read, sourceName: file === STANDARD_INPUT ? undefined : basename(file) };
    const changes = toNarrateChanges(checkedArgs);
    const view = await runNarration(await provider.narrations(), source, changes, signal, isSandbox);
    const isLimited = changes.maxCredits !== null;
    report({ ...view, isLimited }, { asJson, isSandbox }, signal.aborted);
    // A call with neither `max_credits` nor `stop` only asks for the status.
    const isUnfinished = isLimited || (changes.shouldStop && view.status !== "planned");
    return isUnfinished && view.status !== "finished" ? EXIT_UNFINISHED : 0;
  });
}
