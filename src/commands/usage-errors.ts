/** Errors of the command line, printed as one sentence. */
import type { ZodError } from "zod";

/** Wrong usage of the command line: exit code 2. */
export class UsageError extends Error {}

/** The options that are not called like the arguments of the tools. */
const OPTION_OF_ARGUMENT: Readonly<Record<string, string>> = { voices: "speaker", retakes: "retake" };

const toOption = (argument: string): string =>
  `--${OPTION_OF_ARGUMENT[argument] ?? argument.replaceAll("_", "-")}`;

/** Words a broken rule of a tool's arguments with the options of a command. */
export function argumentError(error: ZodError): UsageError {
  const [{ path: [argument = "", ...inner] = [], message = "is wrong" } = {}] = error.issues;
  const subject = argument === "prompt" ? "TEXT" : toOption(String(argument));
  const field = inner.findLast((step) => typeof step === "string");
  const rule = message.replaceAll(/\b(?:file_name|max_credits|pause_seconds|skip_failed)\b/g, toOption);
  return new UsageError(`${subject}${field === undefined ? "" : `: ${field}`} ${rule}`);
}

/** A failed command: exit code 1. */
export class CommandError extends Error {}
