/** Reads the text that a person named on the command line: whatever the path, for it was typed by hand. */
import { createReadStream } from "node:fs";
import { AudioError } from "../errors.ts";
import { systemCode } from "../files/file-failure.ts";
import { formatOfName, type InputText } from "../files/input-folder.ts";
import { decodeText, readStream } from "../files/text-bytes.ts";

/**
 * @param file a path, also of a pipe, or `-` for standard input, which is read as Markdown
 * @throws AudioError `invalid_request`
 */
export async function readAnyText(file: string): Promise<InputText> {
  const isStandardInput = file === "-";
  const name = isStandardInput ? "standard input" : JSON.stringify(file);
  try {
    const bytes = await readStream(isStandardInput ? process.stdin : createReadStream(file), name);
    const format = isStandardInput ? "markdown" : (formatOfName(file) ?? "plain");
    return { text: decodeText(bytes, name), format };
  } catch (cause) {
    if (cause instanceof AudioError) throw cause;
    const why = systemCode(cause) ?? String(cause);
    throw new AudioError("invalid_request", `${name} cannot be read (${why}). Nothing was sent.`, { cause });
  }
}
