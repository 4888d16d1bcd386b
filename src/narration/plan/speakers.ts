/** Finds whose turn it is: lines that begin with a speaker's name and a colon. */
import type { VoiceId } from "../../contract/voices.ts";
import { AudioError } from "../../errors.ts";
import { collapseSpaces, HARD_BREAK, normaliseLines } from "./normalise.ts";

const NAME_MAX_UNITS = 100;
const COLON = /[:：]/;
const LABEL = new RegExp(`^\\s*([^:：\\n${HARD_BREAK}]{1,${NAME_MAX_UNITS}})[:：]\\s*`);

/** Each with its break. */
const LINES = new RegExp(`(?<=[\\n${HARD_BREAK}])`);

/** A name that the map does not have: its line is plain text, and not the speaker's before it. */
const OTHER_LABEL = /^\s*[\p{Lu}\p{Lo}][\p{L}\p{M}\p{N}.'’ -]{0,39}[:：]/u;

/** What one person says in a paragraph; `null`: the narration's own voice. */
export interface Turn {
  readonly voice: VoiceId | null;
  readonly text: string;
}

/** Upper and lower case are alike: a script has `ANNA`, a map perhaps `Anna`. */
const keyOf = (name: string): string => collapseSpaces(normaliseLines(name)).toLowerCase();

/** The speakers of one narration, who remember whether they were heard. */
export class Speakers {
  readonly #voices = new Map<string, { readonly name: string; readonly voice: VoiceId }>();
  readonly #heard = new Set<string>();

  /** @throws AudioError `invalid_request` for a name that no line could begin with, or two that are alike */
  constructor(voices: Readonly<Record<string, VoiceId>>) {
    for (const [name, voice] of Object.entries(voices)) {
      const key = keyOf(name);
      const rule = this.#brokenRule(key);
      if (rule !== null) {
        throw new AudioError("invalid_request", `voices: the name ${JSON.stringify(name)} ${rule}.`);
      }
      this.#voices.set(key, { name, voice });
    }
  }

  /** Names that began no line so far. */
  silent(): string[] {
    return [...this.#voices].filter(([key]) => !this.#heard.has(key)).map(([, { name }]) => name);
  }

  /**
   * The turns of a paragraph, labels taken off. A turn lasts until the next label, of whomever, or the paragraph's end.
   *
   * @param paragraph with its line breaks, soft and hard
   */
  turns(paragraph: string): Turn[] {
    if (this.#voices.size === 0) return [{ voice: null, text: paragraph }];
    const turns: Array<{ voice: VoiceId | null; text: string }> = [];
    for (const line of paragraph.split(LINES)) {
      const [label = "", name = ""] = LABEL.exec(line) ?? [];
      const key = keyOf(name);
      const speaker = this.#voices.get(key);
      const last = turns.at(-1);
      if (speaker !== undefined) {
        this.#heard.add(key);
        turns.push({ voice: speaker.voice, text: line.slice(label.length) });
      } else if (last === undefined || (last.voice !== null && OTHER_LABEL.test(line))) {
        turns.push({ voice: null, text: line });
      } else last.text += line;
    }
    return turns;
  }

  #brokenRule(key: string): string | null {
    if (key === "") return "must not be empty";
    if (key.length > NAME_MAX_UNITS) return `must be at most ${NAME_MAX_UNITS} characters long`;
    if (COLON.test(key)) return "must not contain a colon: the one behind the name is not part of it";
    if (this.#voices.has(key)) return "stands there twice (upper and lower case are alike)";
    return null;
  }
}
