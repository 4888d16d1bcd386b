/** What a Node that is too old can still do: tell every client that asks why nothing works. Runs on Node 20. */
import { createInterface } from "node:readline";

/** A request's id; `undefined`: it is none, and nobody waits for an answer. Looked at by hand, for nothing else is loaded here. */
function idOf(line: string): string | number | undefined {
  try {
    const message: unknown = JSON.parse(line);
    if (typeof message !== "object" || message === null) return undefined;
    if (!("method" in message && "id" in message)) return undefined;
    return typeof message.id === "string" || typeof message.id === "number" ? message.id : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Answers each request on standard input with an error that carries the sentence, because clients show those and
 * hide standard error; ends with exit code 1 when the client goes.
 */
export function answerWithError(sentence: string): void {
  process.exitCode = 1;
  process.stdout.on("error", () => process.exit(1));
  createInterface({ input: process.stdin }).on("line", (line) => {
    const id = idOf(line);
    if (id === undefined) return;
    const error = { code: -32603, message: sentence };
    process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, error })}\n`);
  });
}
