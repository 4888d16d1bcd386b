/** Reads the command line of `narrate` into what the tool of that name takes. */
import { parseArgs } from "node:util";
import type { NarrateCommand } from "./narrate.ts";
import { UsageError } from "./usage.ts";

const text = { type: "string" } as const;
const flag = { type: "boolean" } as const;
const many = { type: "string", multiple: true } as const;

const OPTIONS = {
  "max-credits": text,
  voice: text,
  speaker: many,
  "output-format": text,
  "sample-rate": text,
  speed: text,
  volume: text,
  pitch: text,
  multilingual: flag,
  "pause-seconds": text,
  files: text,
  retake: many,
  "skip-failed": flag,
  "file-name": text,
  json: flag,
} as const;

const NUMBERS = ["max-credits", "sample-rate", "speed", "volume", "pitch", "pause-seconds"] as const;
const WORDS = ["voice", "output-format", "files", "file-name"] as const;

/** What stands before and behind the first `=`. */
function pair(option: string, given: string): [string, string] {
  const at = given.indexOf("=");
  if (at > 0 && at < given.length - 1) return [given.slice(0, at), given.slice(at + 1)];
  throw new UsageError(`--${option} ${JSON.stringify(given)} has no "=" in its midst; see --help.`);
}

/** Not a number: left as it is, for the schema to complain of. */
const numeric = (given: string): unknown =>
  given.trim() !== "" && Number.isFinite(Number(given)) ? Number(given) : given;

const argumentOf = (option: string): string => option.replaceAll("-", "_");

/** @throws UsageError */
export function readNarrateCommand(args: readonly string[]): NarrateCommand {
  const { values, positionals } = parse(args);
  const [file, ...more] = positionals;
  if (file === undefined || more.length > 0) {
    throw new UsageError("narrate takes one file, or - for standard input; see --help.");
  }
  const given: Record<string, unknown> = {};
  for (const name of NUMBERS) if (values[name] !== undefined) given[argumentOf(name)] = numeric(values[name]);
  for (const name of WORDS) if (values[name] !== undefined) given[argumentOf(name)] = values[name];
  if (values.multilingual === true) given["multilingual"] = true;
  if (values["skip-failed"] === true) given["skip_failed"] = true;
  if (values.speaker !== undefined) {
    given["voices"] = Object.fromEntries(values.speaker.map((speaker) => pair("speaker", speaker)));
  }
  if (values.retake !== undefined) {
    given["retakes"] = values.retake.map((retake) => {
      const [take, quote] = pair("retake", retake);
      return { take: numeric(take), quote };
    });
  }
  return { file, args: given, asJson: values.json === true };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true, strict: true });
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split(/\.\s|\n/)[0] ?? "") : String(error);
    throw new UsageError(`${reason.replace(/\.$/, "")}; see --help.`);
  }
}
