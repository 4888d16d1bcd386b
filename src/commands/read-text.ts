/** Reads the text that a person named on the command line, wherever it lies, for they typed it; the rules of texts hold. */
import { createReadStream } from "node:fs";
import { AudioError } from "../errors.ts";
import { formatOfName, type InputText, readInput } from "../files/input-format.ts";

const STANDARD_INPUT = "-";

/**
 * @param file a path, or `-` for standard input, which is read as Markdown; a name without a known extension is plain
 * @throws AudioError `invalid_request` naming what is wrong with it
 */
export async function readAnyText(file: string): Promise<InputText> {
  const isStandardInput = file === STANDARD_INPUT;
  const name = isStandardInput ? "Standard input" : file;
  const stream = isStandardInput ? process.stdin : createReadStream(file);
  try {
    const format = isStandardInput ? "markdown" : (formatOfName(file) ?? "plain");
    return await readInput(stream, format, name);
  } catch (error) {
    if (error instanceof AudioError) throw error;
    const why = error instanceof Error && "code" in error ? String(error.code) : String(error);
    throw new AudioError("invalid_request", `${name} cannot be read (${why}).`, { cause: error });
  }
}
