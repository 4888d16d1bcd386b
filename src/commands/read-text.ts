/** Reads the text that a person named on the command line. */
import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import { buffer } from "node:stream/consumers";
import { AudioError } from "../errors.ts";
import type { NarrationText } from "../narration/make-plan.ts";

const isMarkdown = (file: string): boolean => [".md", ".markdown"].includes(extname(file).toLowerCase());

/** @param file a path, or `-` for standard input, which is read as Markdown */
export async function readAnyText(file: string): Promise<NarrationText> {
  try {
    const bytes = file === "-" ? await buffer(process.stdin) : await readFile(file);
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return { text, format: file === "-" || isMarkdown(file) ? "markdown" : "plain" };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new AudioError("invalid_request", `${file} cannot be read as text: ${why}.`, { cause });
  }
}
