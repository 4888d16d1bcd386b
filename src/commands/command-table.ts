/** The commands of a terminal, with their options. The code of a command is loaded when it runs. */
import { MINIMUM_CHARGE_CREDITS, RESERVED_CREDITS } from "../contract/billing.ts";
import { parseDecimal } from "../contract/numbers.ts";
import { NARRATION_SETTING_NAMES, REQUEST_FIELDS } from "../contract/request-fields.ts";
import { VOICE_IDS } from "../contract/voices.ts";
import { type Command, defineCommand, flag, option, repeatedOption } from "./command-line.ts";
import { UsageError } from "./usage-errors.ts";

/** Parses the value of a number's option. */
function parseNumber(name: string, given: string | undefined, minimum: number, maximum: number) {
  if (given === undefined) return undefined;
  const number = parseDecimal(given) ?? Number.NaN;
  if (number >= minimum && number <= maximum) return number;
  throw new UsageError(`--${name} must be a number from ${minimum} to ${maximum}`);
}

/** Splits an option's value at the first `=`. Refuses a value with an empty side. */
function parsePair(name: string, given: string): [string, string] {
  const offset = given.indexOf("=");
  if (offset > 0 && offset < given.length - 1) return [given.slice(0, offset), given.slice(offset + 1)];
  throw new UsageError(`--${name} ${JSON.stringify(given)} has no "=" in its midst`);
}

const toOptionName = (argument: string): string => argument.replaceAll("_", "-");

/** Converts the values of options to arguments of a tool, which have the same names in another spelling. */
const toToolArguments = (values: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name.replaceAll("-", "_"), value]));

/** One option for each setting that all parts of a narration share, with the words of the table of request fields. */
const SETTING_OPTIONS = Object.fromEntries(
  NARRATION_SETTING_NAMES.map((name) => {
    const { schema } = REQUEST_FIELDS[name];
    const words = name === "voice" ? 'Name or id of a voice; "voices" lists them.' : `${schema.description}.`;
    const value = name.split("_").at(-1)?.toUpperCase() ?? name;
    // A setting that may be true takes no value.
    return [toOptionName(name), schema.safeParse(true).success ? flag(words) : option(value, words)];
  }),
);

const json = flag("Prints one JSON object, for programs.");
const pronounce = repeatedOption("WORD=SPELLING", "Says a word as it is spelled here; may be repeated.");
const fileName = option(
  "NAME",
  "Name of the file, without its extension. If it is taken, a number is added.",
);
const replace = flag("Replaces a file of that name, if this program saved it and nobody changed it.");
const sandbox = flag(
  "Uses a service inside this process: no account, no key, real speech, no credits spent. Both end with the command, so a repeat makes the audio again.",
);

const say = defineCommand({
  name: "say",
  operand: "TEXT",
  words:
    "Speaks a text of up to 2,048 characters, and prints the path of the file and what it cost. Repeated with the same text and settings it costs nothing.",
  options: {
    ...SETTING_OPTIONS,
    "file-name": fileName,
    replace,
    take: option("N", "1 to 999, default 1. Another take is another rendition, paid for again."),
    pronounce,
    sandbox,
    json,
  },
  run: async ({ json: asJson, sandbox: isSandbox, ...values }, prompt) => {
    const { runSayCommand } = await import("./say-command.ts");
    return await runSayCommand({ ...toToolArguments(values), prompt }, asJson === true, isSandbox === true);
  },
});

const narrate = defineCommand({
  name: "narrate",
  operand: "FILE|-",
  words:
    "Speaks a text, a book (.epub, .html) or subtitles (.srt, .vtt) into one audio file, or each row of a sheet (.csv, .tsv) into its own. Without --max-credits it shows length and price, and sends nothing. FILE may be - for standard input. An mp3 can be heard while it is made: as soon as the first part is saved, the command names a playlist (NAME.m3u8) for ordinary players.",
  options: {
    "max-credits": option(
      "N",
      `Makes it, and spends at most N credits in all. Each part holds ${RESERVED_CREDITS} until it ends. If parts would be paid for again, or if N is likely to end it early, it says so first, and the same command again makes it.`,
    ),
    ...SETTING_OPTIONS,
    speaker: repeatedOption(
      "NAME=VOICE",
      "Speaks lines that begin with NAME: in another voice; may be repeated.",
    ),
    pronounce,
    "pause-seconds": option("S", "Silence between paragraphs, 0 to 10, default 0.6 where two parts meet."),
    files: option("one|chapters", "One file (default), or a file for each chapter."),
    chapters: option("3-5", "Only these chapters, or rows of a sheet, by number or title."),
    retake: repeatedOption(
      "TAKE[@SPEED]=QUOTE",
      "Makes the part that holds the quote again, in another take or speed; may be repeated.",
    ),
    "skip-failed": flag("Joins the file without parts that failed."),
    "file-name": fileName,
    replace,
    stop: flag("Stops the narration: nothing more is sent."),
    sandbox,
    json,
  },
  run: async ({ json: asJson, sandbox: isSandbox, speaker, retake, ...values }, file) => {
    const voices = speaker && Object.fromEntries(speaker.map((pair) => parsePair("speaker", pair)));
    const retakes = retake?.map((pair) => {
      const [takeAndSpeed, quote] = parsePair("retake", pair);
      const [take, speed] = takeAndSpeed.split("@");
      return speed === undefined ? { take, quote } : { take: take || "1", speed, quote };
    });
    const args = {
      ...toToolArguments(values),
      ...(voices && { voices }),
      ...(retakes && { retakes }),
    };
    const { runNarrateCommand } = await import("./narrate-command.ts");
    return await runNarrateCommand({ file, args, asJson: asJson === true, isSandbox: isSandbox === true });
  },
});

const voices = defineCommand({
  name: "voices",
  words: "Lists the voices, and where a sample of each is saved.",
  options: {
    sample: flag(
      `Makes the samples that are missing, about ${MINIMUM_CHARGE_CREDITS} credits each (${VOICE_IDS.length * MINIMUM_CHARGE_CREDITS} for all), once for an account. Names the price, and asks first.`,
    ),
    yes: flag("Does not ask."),
    html: option("FILE", "Writes a page that plays the samples."),
  },
  run: async ({ sample, yes, html }) => {
    if (html === "") throw new UsageError("--html takes a file");
    const { runVoicesCommand } = await import("./voices-command.ts");
    return await runVoicesCommand({ makesSamples: sample === true, isAgreed: yes === true, htmlFile: html });
  },
});

const tasks = defineCommand({
  name: "tasks",
  words: "Lists what was asked for, what it cost and where it is saved. Asks the service nothing.",
  options: { json, html: option("FILE", "Writes a page with players, and with costs by day and voice.") },
  run: async ({ json: asJson, html }) => {
    if (html === "" || (html !== undefined && asJson === true)) {
      throw new UsageError("--html takes a file, and does not go with --json");
    }
    const { runTasksCommand } = await import("./tasks-command.ts");
    return await runTasksCommand(asJson === true, html);
  },
});

const doctor = defineCommand({
  name: "doctor",
  words: "Checks settings, folders, store, host and key, and says how to fix what is wrong. Costs nothing.",
  options: { json },
  run: async ({ json: asJson }) => {
    const { runDoctorCommand } = await import("./doctor-command.ts");
    return await runDoctorCommand(asJson === true);
  },
});

const sandboxAlone = defineCommand({
  name: "sandbox",
  words:
    "Serves the sandbox service alone, and prints its address and key as JSON. Use it to keep a ledger between commands.",
  options: {
    port: option("N", "Port to listen on; a free one by default."),
    accounts: option("FILE", "JSON file of accounts, keys and credits; one account with credits by default."),
    "processing-seconds": option("S", "Shortest time that a task takes, 0 to 3600, default 2."),
    "time-scale": option("X", "Makes the windows of limits shorter, 0.001 to 1, default 1."),
  },
  run: async ({ port: givenPort, accounts, "processing-seconds": seconds, "time-scale": scale }) => {
    const port = parseNumber("port", givenPort, 0, 65_535);
    if (port !== undefined && !Number.isInteger(port)) {
      throw new UsageError("--port must be a whole number from 0 to 65535");
    }
    const { runSandboxCommand } = await import("./sandbox-command.ts");
    await runSandboxCommand({
      port,
      accountsFile: accounts,
      processingSeconds: parseNumber("processing-seconds", seconds, 0, 3600),
      timeScale: parseNumber("time-scale", scale, 0.001, 1),
    });
    // The sandbox sets the exit code when it ends.
    return undefined;
  },
});

export const COMMANDS: readonly Command[] = [say, narrate, voices, tasks, doctor, sandboxAlone];
