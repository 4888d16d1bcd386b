/** Reads the text named on the command line. Any folder is allowed, because the user typed the path. */
import { createReadStream } from "node:fs";
import { AudioError } from "../errors.ts";
import { describeUnreadable } from "../files/input-folder.ts";
import { assertReadKind, findFormatOfName, type NarrationInput, readInput } from "../files/input-format.ts";

const STANDARD_INPUT = "-";

/**
 * Reads a text file or standard input. A file with an unknown extension is read as plain text, but
 * one of a known kind that the tool refuses is refused here, too.
 *
 * @param file a path, or `-` for standard input, which is read as Markdown
 * @throws AudioError `invalid_request`, which says what is wrong with the file
 */
export async function readCommandInput(file: string): Promise<NarrationInput> {
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
