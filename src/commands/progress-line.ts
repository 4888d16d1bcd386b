/** Shows the progress of a command: words that are overwritten on a terminal, separate lines elsewhere. */
import { type Clock, systemClock } from "../clock.ts";
import { wrapWords } from "./command-line.ts";
import { escapeForTerminal } from "./terminal-messages.ts";

const MAX_BAR_COLUMNS = 24;
const MIN_BAR_COLUMNS = 6;
const FALLBACK_COLUMNS = 80;
const SHOW_AGAIN_MS = 60_000;

export interface Screen {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

/** Puts a bar in front of words that contain counts such as "12 of 300", if the line has room for one. */
function withBar(words: string, room: number): string {
  const [, done, total] = /(\d+) of (\d+)/.exec(words) ?? [];
  const columns = Math.min(MAX_BAR_COLUMNS, room - words.length - 3);
  if (done === undefined || total === undefined || columns < MIN_BAR_COLUMNS) return words;
  const filled = Math.round((columns * Number(done)) / Number(total));
  return `[${"#".repeat(filled)}${".".repeat(columns - filled)}] ${words}`;
}

/** Removes times, which change from second to second and would fill a file with lines. */
const withoutTimes = (words: string): string => words.replaceAll(/\d+ (?:s|min|h)\b/g, "");

/**
 * Shows the latest progress of one command. On a terminal, the words overwrite the previous ones, and break at the width
 * of the terminal. Elsewhere, and on a terminal that cannot move its cursor, words get a line of their own when more
 * than their times have changed, and once a minute.
 */
export class ProgressLine {
  readonly #screen: Screen;
  readonly #canOverwrite: boolean;
  readonly #clock: Pick<Clock, "steadyMs">;
  #shown = "";
  #shownAtMs = Number.NEGATIVE_INFINITY;
  #lineCount = 0;

  constructor(
    screen: Screen,
    terminal: string | undefined = process.env["TERM"],
    clock: Pick<Clock, "steadyMs"> = systemClock,
  ) {
    this.#screen = screen;
    this.#clock = clock;
    this.#canOverwrite = screen.isTTY === true && terminal !== "dumb";
  }

  /** Writes the words, unless they are shown already. */
  show(words: string): void {
    const shown = this.#canOverwrite ? words : withoutTimes(words);
    const nowMs = this.#clock.steadyMs();
    const isDue = !this.#canOverwrite && nowMs - this.#shownAtMs >= SHOW_AGAIN_MS;
    if (shown === this.#shown && !isDue) return;
    this.#shown = shown;
    this.#shownAtMs = nowMs;
    const escaped = escapeForTerminal(words);
    if (!this.#canOverwrite) {
      this.#screen.write(`${escaped}\n`);
      return;
    }
    // A terminal that does not know its width has 0 columns.
    const room = (this.#screen.columns || FALLBACK_COLUMNS) - 1;
    const lines = wrapWords(withBar(escaped, room), room);
    const up = this.#lineCount > 1 ? `\x1b[${this.#lineCount - 1}A` : "";
    this.#screen.write(`${up}\r\x1b[J${lines.join("\n")}`);
    this.#lineCount = lines.length;
  }

  /** Writes words that stay above the line. */
  keep(words: string): void {
    this.end();
    this.#screen.write(`${escapeForTerminal(words)}\n`);
    this.#lineCount = 0;
    this.#shown = "";
  }

  /** Ends the line, which stays on the screen. */
  end(): void {
    if (this.#lineCount > 0) this.#screen.write("\n");
  }
}
