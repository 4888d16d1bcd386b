/**
 * Finds the speaker of each turn. A turn begins where a line begins with a name and a colon, or with a recurring name
 * without a colon. If most paragraphs begin with labels, a turn lasts until the next label. Without `voices`, a text
 * stays unchanged.
 */
import { AudioError } from "../../../errors.ts";
import type { UnspokenList } from "../blocks.ts";
import { ENDS_SENTENCE, hasWords } from "../characters.ts";
import { collapseSpaces, HARD_BREAK, normalizeLines } from "../normalize.ts";
import { buildVoiceSettingsKey, type Speaker, type SpeakersByName } from "../plan-types.ts";
import {
  FILM_SCENE,
  findDialogueNames,
  NO_NAME_ABOVE,
  parseNameAbove,
  type VoicelessName,
} from "./voiceless-names.ts";

const MAX_NAME_CODE_UNITS = 100;
const COLON = /[:：]/;
const NAME_LABEL = new RegExp(`^\\s*([^:：\\n${HARD_BREAK}]{1,${MAX_NAME_CODE_UNITS}})[:：]\\s*`);
/** A direction in brackets after the name. */
const DIRECTION_AFTER_NAME = /\s*[([（][^()[\]（）]{1,60}[)\]）]\s*$/;
/** Matches a label as in `Algernon. Did you hear …`, or a name alone on its line. The name has more than a title. */
const NAME_WITH_FULL_STOP =
  /^\s*((?:(?:MRS?|MS|DR|ST|Mrs?|Ms|Dr|St)\. )?\p{Lu}[\p{L}\p{M}'’ -]{0,30})(?<!\b(?:MRS?|MS|DR|ST|Mrs?|Ms|Dr|St))\.(?:\s+|$)/u;
const NAME_IN_CAPITALS = /^[\p{Lu}\p{M}'’. -]{3,}$/u;
/**
 * Matches a line that is only a name, as scripts write it: `@Anna`, `ANNA (O.S.) (CONT'D)`, `ANNA ^` for two who speak
 * at once.
 */
const NAME_ALONE = new RegExp(
  `^\\s*@?([^\\s@][^\\n${HARD_BREAK}]{0,${MAX_NAME_CODE_UNITS}}?)\\.?[ \\t]*(?:\\([^()\\n]{1,30}\\)[ \\t]*){0,3}(?:\\^[ \\t]*)?(?:[\\n${HARD_BREAK}]|$)`,
);
/** Names alone on a line that may be labels although `voices` lacks them. */
const NAME_FORM = /^\p{Lu}(?:[\p{Lu}\p{M}\p{N}.'’ -]{0,30}|[\p{L}\p{M}\p{N}'’ -]{0,30})$/u;
const MIN_RECURRENCES = 2;
const MIN_VOICELESS_RECURRENCES = 3;

/**
 * Minimum number and minimum share of paragraphs that begin with labels. If both are reached, a turn lasts until the
 * next label.
 */
const MIN_LABELLED = 4;
const MIN_LABELLED_SHARE = 0.5;

const LINE_BREAK = new RegExp(`[\\n${HARD_BREAK}]`);
const LINE_BREAKS = new RegExp(LINE_BREAK, "g");
const LINE_STARTS = new RegExp(`(?<=[\\n${HARD_BREAK}])`);

/** Splits a text behind its line breaks, which stay. */
const splitAtBreaks = (text: string): string[] =>
  text.includes("\n") || text.includes(HARD_BREAK) ? text.split(LINE_STARTS) : [text];

/** Matches a label whose name has no voice. The label ends the turn before it. */
const VOICELESS_LABEL =
  /^\s*([\p{Lu}\p{Lo}](?:[\p{L}\p{M}\p{N}.'’ -]|, ?(?=\p{Lu})){0,39})(?:\s*\([^()\n]{1,40}\)\s*)?[:：]/u;

const LABEL_IN_CAPITALS = /^[\p{Lu}\p{M}\p{N}.,'’ -]{2,}$/u;

const BRACKETED_LINE = /^\s*\[[^[\]]+\][.]?\s*$/;
const PARENTHESISED_LINE = /^\s*\([^()]+\)[.]?\s*$/;
/** A direction that fills several lines. */
const WRAPPED_DIRECTION = new RegExp(
  `(?<=^|[\\n${HARD_BREAK}])[ \\t\x02]*(?:\\([^()]+\\)|\\[[^[\\]]+\\])\\.?[ \\t]*(?=[\\n${HARD_BREAK}]|$)`,
  "g",
);

/**
 * A control character that this program puts before parentheses in italics, such as `_(softly)_`. No input contains
 * this character, because normalisation removes control characters.
 */
export const ITALIC_MARK = "\x02";

/**
 * Matches a direction before the first word of a turn. Square brackets and full-width parentheses may contain any
 * words. Other parentheses may contain only words that begin with a small letter, such as `(to Anna)`, or a single
 * word, such as `(Smiling)`.
 */
const DIRECTION_BEFORE_WORDS =
  /^\s*(?:\[[^[\]]+\]|\((?:\p{Ll}[^()\n]{0,59}|\p{Lu}\p{Ll}{1,20})\)|（[^（）。！？\n]{1,30}）)\s*(?=\S)/u;

/**
 * Lookbehind and lookahead for a stage direction that stands between two sentences. The lookbehind stands behind the
 * first bracket, because a search that begins with it would take quadratic time for blanks.
 */
const AFTER_SENTENCE_END = "(?<=[.!?…。！？—:：][”’\"'»」』]?\\s*.)";
const BEFORE_SENTENCE = "(?=\\s*(?:$|[^\\p{Ll}\\s,;.]))";
const BRACKETED_BETWEEN_SENTENCES = new RegExp(`\\[${AFTER_SENTENCE_END}[^[\\]]+\\]${BEFORE_SENTENCE}`, "gu");
const ITALIC_PARENTHESES = new RegExp(`${ITALIC_MARK}\\([^()]+\\)`, "g");
/**
 * Matches parentheses with the same words as {@link DIRECTION_BEFORE_WORDS}. Here, a single word may also end with a
 * full stop.
 */
const PARENTHESISED_BETWEEN_SENTENCES = new RegExp(
  `(?:\\(${AFTER_SENTENCE_END}(?:\\p{Ll}[^()\\n]{0,59}|\\p{Lu}\\p{Ll}{1,20}\\.?)\\)|（${AFTER_SENTENCE_END}[^（）。！？\\n]{1,30}）)${BEFORE_SENTENCE}`,
  "gu",
);

/** The words of one speaker in a paragraph. `speaker` is `null` for the narration's own voice. */
export interface Turn {
  readonly speaker: Speaker | null;
  readonly text: string;
  /** Whether the line begins with a label, even one whose name has no voice. */
  readonly isLabelled: boolean;
}

/** A label as it is written, its name, and the name in lower case. */
interface Label {
  readonly label: string;
  readonly name: string;
  readonly key: string;
}

/** Returns the key of a name. The key ignores case, because a script may have `ANNA` and `voices` may have `Anna`. */
const deriveLabelKey = (name: string): string => collapseSpaces(name).toLowerCase();

/** Removes accents of Latin letters, because people type `Tomas` for `Tomás`. */
const deriveAccentlessKey = (key: string): string =>
  /[^\p{ASCII}]/u.test(key)
    ? key
        .normalize("NFD")
        .replace(/[\u0300-\u036f]/g, "")
        .normalize("NFC")
    : key;

/** A direction in brackets, or in parentheses and italics, before the first word of a turn. */
const DIRECTION_BELOW_LABEL = new RegExp(`^\\s*(?:\\[[^[\\]]+\\]|${ITALIC_MARK}\\([^()]+\\))\\s*(?=\\S)`);

function withoutFirstDirection(text: string, unspoken: UnspokenList): string {
  const [direction = ""] = DIRECTION_BELOW_LABEL.exec(text) ?? [];
  const words = text.slice(direction.length);
  if (direction === "" || !hasWords(words)) return text;
  unspoken.add("direction", direction.trim());
  return words;
}

/**
 * Whether a line that is only a name may be a label: the first of its paragraph, or one between other lines of which the
 * one above ends a sentence. A wrapped sentence may end with a name.
 */
const mayStandAlone = (lines: readonly string[], index: number): boolean =>
  index === 0 || (index < lines.length - 1 && ENDS_SENTENCE.test(lines[index - 1] ?? ""));

/** Finds labels of the speakers of one narration, and records which speakers occur. */
export class SpeakerLabels {
  readonly #speakersByKey = new Map<string, { readonly name: string; readonly speaker: Speaker }>();
  readonly #speaking = new Set<string>();
  /** Maps names without their accents to the names in `voices`. */
  readonly #keysByAccentlessKey = new Map<string, string>();
  /**
   * Recurring labels without a colon. Each entry is the form of the label (`alone` or `dotted`), a space, and the key
   * of the name.
   */
  readonly #recurringLabels = new Set<string>();
  #hasDotted = false;
  readonly #voiceless = new Map<string, number>();
  /**
   * Names that begin lines of a dialogue but have no voice. In contrast to the names in `#voiceless`, these names may
   * contain small letters.
   */
  #dialogue: readonly VoicelessName[] = [];
  /** Names above the words of a text without voices. They stay on lines of their own. */
  #namesAbove: ReadonlySet<string> = new Set();
  /** Whether the text is mostly turns, or the script of a film. Then lines in parentheses are directions. */
  #isScript = false;
  #turnsContinue = false;

  /** @throws AudioError `invalid_request` for a name that cannot begin a line, or for two equal names */
  constructor(voices: SpeakersByName) {
    const speakers = new Map<string, Speaker>();
    for (const [name, voiceOrSpeaker] of Object.entries(voices)) {
      const key = deriveLabelKey(normalizeLines(name));
      const rule = this.#findNameProblem(key);
      if (rule !== null) {
        throw new AudioError("invalid_request", `voices: the name ${JSON.stringify(name)} ${rule}.`);
      }
      const given: Speaker = typeof voiceOrSpeaker === "string" ? { voice: voiceOrSpeaker } : voiceOrSpeaker;
      // Use one speaker for all names with the same voice and settings, so that their words may be in one part.
      const settingsKey = buildVoiceSettingsKey(given);
      const speaker = speakers.get(settingsKey) ?? given;
      speakers.set(settingsKey, speaker);
      this.#speakersByKey.set(key, { name, speaker });
      this.#keysByAccentlessKey.set(deriveAccentlessKey(key), key);
    }
  }

  /** Returns the key of a name. If `voices` has the name with other accents, returns the key of that spelling. */
  #deriveKey(name: string): string {
    const key = deriveLabelKey(name);
    return this.#speakersByKey.has(key)
      ? key
      : (this.#keysByAccentlessKey.get(deriveAccentlessKey(key)) ?? key);
  }

  /** Returns the names in `voices` with which no line has begun so far. */
  listSilentSpeakers(): string[] {
    return [...this.#speakersByKey].filter(([key]) => !this.#speaking.has(key)).map(([, { name }]) => name);
  }

  /** Whether a turn lasts until the next label, instead of to the end of its paragraph. */
  get hasContinuingTurns(): boolean {
    return this.#turnsContinue;
  }

  /**
   * Returns names that begin lines and have no voice, the most frequent first. Such names are spoken. In a dialogue, the
   * list includes names that begin only one line.
   */
  listVoicelessNames(): VoicelessName[] {
    const found = [...this.#voiceless]
      .filter(([, count]) => this.#turnsContinue || count >= MIN_RECURRENCES)
      .map(([name, count]) => ({ name, count }));
    const foundNames = new Set(found.map(({ name }) => name));
    return [...found, ...this.#dialogue.filter(({ name }) => !foundNames.has(name))].sort(
      (one, other) => other.count - one.count,
    );
  }

  /**
   * Searches all paragraphs for names without a colon, such as `ROPER.`, which are labels only if they recur. Evidence:
   * sequence and share.
   *
   * @param paragraphs with their line breaks, soft and hard
   * @param headings of the text, among which may be those of a film's scenes
   */
  collectLabels(paragraphs: readonly string[], headings: readonly string[] = []): void {
    if (this.#speakersByKey.size === 0) {
      ({ names: this.#dialogue, above: this.#namesAbove } = findDialogueNames(paragraphs));
      return;
    }
    const counts = new Map<string, number>();
    const count = (form: string, name: string): void => {
      const key = `${form} ${this.#deriveKey(name)}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    };
    const isKnown = (key: string): boolean => this.#speakersByKey.has(key.slice(key.indexOf(" ") + 1));
    for (const text of paragraphs) {
      const lines = splitAtBreaks(text);
      const names = lines.flatMap((line, index) =>
        mayStandAlone(lines, index) ? (this.#findNameAlone(line) ?? []) : [],
      );
      for (const { name } of names) count(/\p{Ll}/u.test(name) ? "named" : "alone", name);
      if (FILM_SCENE.test(text)) continue;
      for (const [index, line] of lines.entries()) {
        const [, dotted] = NAME_WITH_FULL_STOP.exec(line.slice(0, 2 * MAX_NAME_CODE_UNITS)) ?? [];
        if (dotted === undefined) continue;
        // Inside a paragraph, such as `A. I was.` below a question, only a name of `voices` may be a label.
        const isInner = index > 0 && ENDS_SENTENCE.test(lines[index - 1] ?? "");
        const isFirst = index === 0 && names.length === 0;
        if (isFirst || (isInner && this.#speakersByKey.has(this.#deriveKey(dotted))))
          count(/\p{Ll}/u.test(dotted) ? "spelt" : "dotted", dotted);
      }
    }
    const hasFilmScenes = [...paragraphs, ...headings].some((text) => FILM_SCENE.test(text));
    const stands = (key: string): boolean => isKnown(key) && /^(?:named|alone) /.test(key);
    const recurs = (form: RegExp): boolean =>
      [...counts].some(([key, number]) => isKnown(key) && form.test(key) && number >= MIN_RECURRENCES);
    const haveNames = recurs(/^(?:named|alone) /);
    const haveDotted = recurs(/^(?:dotted|spelt) /);
    const recurring = [...counts].flatMap(([key, number]) => {
      // One line suffices for a name of `voices` in a script whose other labels stand alone, too.
      const isCertain = stands(key) && (hasFilmScenes || haveNames);
      const minimum = isKnown(key) ? MIN_RECURRENCES : MIN_VOICELESS_RECURRENCES;
      return isCertain || number >= minimum ? [key] : [];
    });
    // Another name in small letters may be a heading, or an answer such as `Yes.`, unless names of `voices` have this
    // form, too.
    for (const key of recurring)
      if (key.startsWith("named ") ? haveNames : haveDotted || !key.startsWith("spelt "))
        this.#recurringLabels.add(key.replace("named ", "alone ").replace("spelt ", "dotted "));
    this.#hasDotted = [...this.#recurringLabels].some((key) => key.startsWith("dotted "));
    this.#dialogue = findDialogueNames(paragraphs).names.filter(({ name, count: lines }) => {
      return lines >= MIN_RECURRENCES && !this.#speakersByKey.has(this.#deriveKey(name));
    });
    let labelled = 0;
    let spokenParagraphCount = 0;
    for (const text of paragraphs) {
      if (BRACKETED_LINE.test(text) || PARENTHESISED_LINE.test(text)) continue;
      const { length } = this.#findLabel(text, true)?.label ?? "";
      if (length > 0 || VOICELESS_LABEL.test(text)) labelled += 1;
      // Do not count a paragraph that is only a label, because it belongs to the paragraph below.
      if (length === 0 || text.slice(length).trim() !== "") spokenParagraphCount += 1;
    }
    const hasTurns = labelled >= MIN_LABELLED && labelled >= MIN_LABELLED_SHARE * spokenParagraphCount;
    this.#isScript = hasTurns || hasFilmScenes;
    // In the script of a film, a paragraph below the words of a name that stands alone is action.
    this.#turnsContinue = hasTurns && !(hasFilmScenes && recurring.some(stands));
  }

  /**
   * Divides a paragraph into turns, without labels and directions. A turn lasts until the next label of any name, or
   * until the end of the paragraph.
   *
   * @param paragraph with its line breaks, soft and hard
   * @param isAnnounced whether a label stands alone in the paragraph above
   */
  splitIntoTurns(paragraph: string, unspoken: UnspokenList, isAnnounced = false): Turn[] {
    if (this.#speakersByKey.size === 0) {
      const [line = ""] = this.#namesAbove.size === 0 ? [] : paragraph.split("\n", 1);
      const isName = this.#namesAbove.has(parseNameAbove(line, true) ?? "");
      const text = isName ? paragraph.replace("\n", HARD_BREAK) : paragraph;
      return [{ speaker: null, text, isLabelled: false }];
    }
    const text = /[([]/.test(paragraph)
      ? paragraph.replace(WRAPPED_DIRECTION, (direction) =>
          this.#isDirection(direction) ? direction.replace(LINE_BREAKS, " ") : direction,
        )
      : paragraph;
    const turns: Array<{ speaker: Speaker | null; text: string; isLabelled: boolean }> = [];
    const whole = this.#findLabel(text, true);
    const lines =
      whole === null
        ? splitAtBreaks(text)
        : [whole.label, ...splitAtBreaks(this.#removeLabel(text, whole, unspoken))];
    for (const [index, line] of lines.entries()) {
      if (line === "" || this.#isDirection(line)) {
        if (line.trim() !== "") unspoken.add("direction", line.trim());
        continue;
      }
      const lineLabel =
        index === 0
          ? whole
          : (this.#findLabel(line, mayStandAlone(lines, index)) ??
            (ENDS_SENTENCE.test(lines[index - 1] ?? "") ? this.#findDotted(line, true) : null));
      const last = turns.at(-1);
      if (lineLabel !== null) {
        this.#speaking.add(lineLabel.key);
        const entry = this.#speakersByKey.get(lineLabel.key);
        const isVoiceless = entry === undefined;
        if (isVoiceless) this.#noteVoiceless(lineLabel.name);
        turns.push({
          speaker: entry?.speaker ?? null,
          text: isVoiceless ? line.replace(/\n$/, HARD_BREAK) : this.#removeLabel(line, lineLabel, unspoken),
          isLabelled: true,
        });
      } else if (
        (VOICELESS_LABEL.test(line) || FILM_SCENE.test(line)) &&
        (last === undefined || last.speaker !== null || last.isLabelled)
      ) {
        const name = VOICELESS_LABEL.exec(line)?.[1]?.trim();
        if (name !== undefined && LABEL_IN_CAPITALS.test(name)) this.#noteVoiceless(name);
        turns.push({ speaker: null, text: line, isLabelled: true });
      } else if (last === undefined) turns.push({ speaker: null, text: line, isLabelled: false });
      else last.text += line;
    }
    for (const turn of turns) {
      if (turn.speaker !== null || ((this.#turnsContinue || isAnnounced) && !turn.isLabelled)) {
        turn.text = this.#withoutDirections(withoutFirstDirection(turn.text, unspoken), unspoken);
      }
    }
    return turns;
  }

  /** Removes directions from the words of a speaker. */
  #withoutDirections(text: string, unspoken: UnspokenList): string {
    const forms = [
      BRACKETED_BETWEEN_SENTENCES,
      ITALIC_PARENTHESES,
      ...(this.#isScript ? [PARENTHESISED_BETWEEN_SENTENCES] : []),
    ];
    return forms.reduce(
      (words, form) =>
        // Keep a direction if the turn begins with it or has no other words.
        unspoken.drop(
          "direction",
          words,
          form,
          (direction, offset) => offset > 0 && hasWords(words.replace(direction, "")),
        ),
      text,
    );
  }

  /** Returns the words after a label. Removes a direction before the first word if the label's name has a voice. */
  #removeLabel(text: string, { label, key }: Label, unspoken: UnspokenList): string {
    const words = text.slice(label.length);
    const [direction = ""] = this.#speakersByKey.has(key) ? (DIRECTION_BEFORE_WORDS.exec(words) ?? []) : [];
    if (direction !== "") unspoken.add("direction", direction.trim());
    return words.slice(direction.length);
  }

  #noteVoiceless(name: string): void {
    this.#voiceless.set(name, (this.#voiceless.get(name) ?? 0) + 1);
  }

  #isDirection(line: string): boolean {
    if (BRACKETED_LINE.test(line)) return true;
    const words = line.replace(ITALIC_MARK, "");
    return PARENTHESISED_LINE.test(words) && (this.#isScript || line.includes(ITALIC_MARK));
  }

  /** Finds a name that stands alone on its line: one of `voices`, or one that may be a name. */
  #findNameAlone(line: string): Label | null {
    const head = line.slice(0, 2 * MAX_NAME_CODE_UNITS);
    if (head.length < line.length && head.search(LINE_BREAK) === -1) return null;
    const [label, name = ""] = NAME_ALONE.exec(head) ?? [];
    if (label === undefined) return null;
    const key = this.#deriveKey(name);
    const isName = this.#speakersByKey.has(key) || (NAME_FORM.test(name) && !NO_NAME_ABOVE.test(name));
    return isName ? { label, key, name } : null;
  }

  /**
   * Finds a label at the beginning of a line. A name before a colon must be in `voices`. A name without a colon must
   * recur in the same form, or be in capitals with a full stop in a text where other labels of this form recur.
   */
  #findLabel(line: string, mayLackColon: boolean): Label | null {
    const head = line.slice(0, 2 * MAX_NAME_CODE_UNITS);
    const [colon = "", name = ""] = NAME_LABEL.exec(head) ?? [];
    for (const writtenName of colon === "" ? [] : [name, name.replace(DIRECTION_AFTER_NAME, "")]) {
      const key = this.#deriveKey(writtenName);
      if (this.#speakersByKey.has(key)) return { label: colon, name, key };
    }
    if (!mayLackColon) return null;
    const alone = this.#findNameAlone(line);
    if (alone !== null && this.#recurringLabels.has(`alone ${alone.key}`)) return alone;
    return FILM_SCENE.test(head) ? null : this.#findDotted(head, false);
  }

  /** Finds a name with a full stop: one of `voices`, or any that may be a name. */
  #findDotted(line: string, isOfVoices: boolean): Label | null {
    if (!this.#hasDotted) return null;
    const [label, name = ""] = NAME_WITH_FULL_STOP.exec(line.slice(0, 2 * MAX_NAME_CODE_UNITS)) ?? [];
    if (label === undefined) return null;
    const key = this.#deriveKey(name);
    // If labels such as `ROPER.` recur, any other name in capitals with a full stop is also a label, even if it occurs
    // only once.
    const isDotted = this.#recurringLabels.has(`dotted ${key}`) || NAME_IN_CAPITALS.test(name);
    return isDotted && (!isOfVoices || this.#speakersByKey.has(key)) ? { label, name, key } : null;
  }

  #findNameProblem(key: string): string | null {
    if (key === "") return "must not be empty";
    if (key.length > MAX_NAME_CODE_UNITS) return `must be at most ${MAX_NAME_CODE_UNITS} characters long`;
    if (COLON.test(key)) return "must not contain a colon: the one after the name is not part of it";
    if (this.#speakersByKey.has(key)) return "is given twice (upper and lower case do not differ)";
    return null;
  }
}
