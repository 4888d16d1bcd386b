/** Answers every request with an error if Node is too old for the server. This file must run even on Node 20. */
import { createInterface } from "node:readline";

/**
 * Extracts the id of a request; `undefined` for other messages. Uses no library, because this file must load on
 * an old Node.
 */
function parseMessageId(line: string): string | number | undefined {
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
 * Answers each request on standard input with an error. Clients show this error, but hide what is written to standard
 * error. Exits with code 1 when the client disconnects.
 */
export function answerWithError(sentence: string): void {
  process.exitCode = 1;
  process.stdout.on("error", () => process.exit(1));
  createInterface({ input: process.stdin }).on("line", (line) => {
    const id = parseMessageId(line);
    if (id === undefined) return;
    const error = { code: -32603, message: sentence };
    process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, error })}\n`);
  });
}
