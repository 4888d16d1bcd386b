/** Converts the command line of `narrate` to arguments of the tool `narrate`. */
import { parseArgs } from "node:util";
import type { z } from "zod";
import { narrateInput } from "../tools/narrate-input.ts";
import type { NarrateCommand } from "./narrate-command.ts";
import { UsageError } from "./usage-errors.ts";

/**
 * Arguments of the tool that are not options of the command. The command sets `voices` from `--speaker`, and `retakes`
 * from `--retake`.
 */
const NO_OPTION = ["text", "file", "narration_id", "voices", "retakes", "wait_seconds"];

/** Returns whether the option of an argument takes no value, because the argument's schema accepts `true`. */
export const isFlag = (schema: z.ZodType): boolean => schema.safeParse(true).success;
/**
 * Converts the name of an argument to the name of its option, without the leading dashes: `max_credits` becomes
 * `max-credits`.
 */
export const toOptionName = (argument: string): string => argument.replaceAll("_", "-");
const ARGUMENT_OPTIONS: ReadonlyArray<readonly [argument: string, schema: z.ZodType]> = Object.entries(
  narrateInput.shape,
).filter(([argument]) => !NO_OPTION.includes(argument));

/** Splits an option's value at the first `=`. Refuses a value with an empty side. */
function parsePair(option: string, given: string): [string, string] {
  const offset = given.indexOf("=");
  if (offset > 0 && offset < given.length - 1) return [given.slice(0, offset), given.slice(offset + 1)];
  throw new UsageError(`--${option} ${JSON.stringify(given)} has no "=" in its midst; see --help.`);
}

/**
 * Parses the command line.
 *
 * @throws UsageError
 */
export function parseNarrateCommand(args: readonly string[]): NarrateCommand {
  const { values, positionals } = parseArguments(args);
  const [file, ...more] = positionals;
  if (file === undefined || more.length > 0) {
    throw new UsageError("narrate takes one file, or - for standard input; see --help.");
  }
  const toolArgs: Record<string, unknown> = {};
  const byOption: Readonly<Record<string, unknown>> = values;
  for (const [argument] of ARGUMENT_OPTIONS) {
    const value = byOption[toOptionName(argument)];
    if (value !== undefined) toolArgs[argument] = value;
  }
  if (values.speaker !== undefined) {
    toolArgs["voices"] = Object.fromEntries(values.speaker.map((speaker) => parsePair("speaker", speaker)));
  }
  if (values.retake !== undefined) {
    toolArgs["retakes"] = values.retake.map((retake) => {
      const [takeAndSpeed, quote] = parsePair("retake", retake);
      const [take, speed] = takeAndSpeed.split("@");
      return speed === undefined ? { take, quote } : { take: take || "1", speed, quote };
    });
  }
  return { file, args: toolArgs, asJson: values.json === true };
}

function parseArguments(args: readonly string[]) {
  const many = { type: "string", multiple: true } as const;
  const plain = ARGUMENT_OPTIONS.map(
    ([argument, schema]) =>
      [toOptionName(argument), { type: isFlag(schema) ? "boolean" : "string" }] as const,
  );
  const options = {
    ...Object.fromEntries(plain),
    speaker: many,
    retake: many,
    pronounce: many,
    json: { type: "boolean" },
  } as const;
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split(/\.\s|\n/)[0] ?? "") : String(error);
    throw new UsageError(`${reason.replace(/\.$/, "")}; see --help.`);
  }
}
