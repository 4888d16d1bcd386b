/** Writes the log to standard error or to a file, redacted and filtered by level. Standard output belongs to the protocol. */
import { appendFileSync } from "node:fs";
import { systemClock } from "./clock.ts";
import type { Redact } from "./redaction.ts";

export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface Log {
  debug(message: string): void;
  info(message: string): void;
  warn(message: string, cause?: unknown): void;
  error(message: string, cause?: unknown): void;
}

/** Describes a cause and its causes in one line: messages and codes, no stacks. */
export function describeCause(cause: unknown, depth = 0): string {
  if (!(cause instanceof Error)) return String(cause);
  const stated = "code" in cause && typeof cause.code === "string" ? cause.code : "";
  // A message of the system begins with its code already.
  const code = stated === "" || cause.message.startsWith(stated) ? "" : `${stated} `;
  const inner =
    cause.cause === undefined || depth >= 4 ? "" : ` (because: ${describeCause(cause.cause, depth + 1)})`;
  return `${code}${cause.message}${inner}`;
}

const writeToStderr = (line: string): void => {
  process.stderr.write(line);
};

/**
 * Returns what writes lines to the end of a file, or to `writeElse` if `path` is null, and while the file cannot be
 * written.
 */
export function createLogWriter(path: string | null, writeElse = writeToStderr): (line: string) => void {
  if (path === null) return writeElse;
  return (line) => {
    try {
      appendFileSync(path, line, { mode: 0o600 });
    } catch (error) {
      writeElse(`${describeCause(error)} (AUDIO_LOG_FILE) ${line}`);
    }
  };
}

/**
 * Creates a log that writes one line per message, which begins with the time.
 *
 * @param redact removes secrets from every line, including causes
 */
export function createLog(
  level: LogLevel,
  redact: Redact,
  write: (line: string) => void = writeToStderr,
): Log {
  const threshold = LOG_LEVELS.indexOf(level);
  const emit = (lineLevel: LogLevel, message: string, cause?: unknown): void => {
    if (LOG_LEVELS.indexOf(lineLevel) < threshold) return;
    const text = cause === undefined ? message : `${message}: ${describeCause(cause)}`;
    const time = new Date(systemClock.wallMs()).toISOString();
    write(`${time} audio-generation-mcp ${lineLevel}: ${redact(text).replace(/[\r\n]+/g, " ")}\n`);
  };
  return {
    debug: (message) => emit("debug", message),
    info: (message) => emit("info", message),
    warn: (message, cause) => emit("warn", message, cause),
    error: (message, cause) => emit("error", message, cause),
  };
}
