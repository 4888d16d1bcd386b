/** Shows the progress of a command: one line that is overwritten on a terminal, separate lines elsewhere. */
import { escapeForTerminal } from "./escape-for-terminal.ts";

const BAR_COLUMNS = 24;
const FALLBACK_COLUMNS = 80;

export interface Screen {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

/** Puts a bar in front of words that contain counts such as "12 of 300". */
function withBar(words: string): string {
  const [, done, total] = /(\d+) of (\d+)/.exec(words) ?? [];
  if (done === undefined || total === undefined) return words;
  const filled = Math.round((BAR_COLUMNS * Number(done)) / Number(total));
  return `[${"#".repeat(filled)}${".".repeat(BAR_COLUMNS - filled)}] ${words}`;
}

/**
 * Shows the latest progress of one command. On a terminal, the text overwrites the previous one, and is cut to the
 * width of the terminal. Elsewhere, each text gets a line of its own.
 */
export class ProgressLine {
  readonly #screen: Screen;
  #shown = "";
  #columns = 0;

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  /** Writes the words, unless the line shows them already. */
  show(words: string): void {
    if (words === this.#shown) return;
    this.#shown = words;
    if (this.#screen.isTTY !== true) {
      this.#screen.write(`${escapeForTerminal(words)}\n`);
      return;
    }
    const room = (this.#screen.columns ?? FALLBACK_COLUMNS) - 1;
    const line = withBar(escapeForTerminal(words)).slice(0, room);
    this.#screen.write(`\r${line.padEnd(this.#columns)}`);
    this.#columns = line.length;
  }

  /** Ends the line, which stays on the screen. */
  end(): void {
    if (this.#screen.isTTY === true && this.#columns > 0) this.#screen.write("\n");
  }
}
