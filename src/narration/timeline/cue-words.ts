/**
 * Removes tags, sounds, songs and dashes from a cue, because they are not spoken. Finds the speakers that the cue names
 * in tags or brackets.
 */
import type { UnspokenList } from "../text/blocks.ts";
import { hasWords } from "../text/characters.ts";
import { decodeEntities } from "../text/markdown/entities.ts";
import { HARD_BREAK } from "../text/normalize.ts";

/** The words of one voice in a cue. */
export interface CueWords {
  /** The name in a tag `<v NAME>`, or in brackets before the words; `null` for none. */
  readonly name: string | null;
  /** The words, with `\n` for soft line breaks and {@link HARD_BREAK} between two speakers. */
  readonly text: string;
}

const VOICE_TAG = /<v(?:\.[^<>\s]{0,60})?\s+([^<>]{1,100})>/gi;
const RUBY_READING = /<rt>[^<>]{0,200}(?:<\/rt>|$)/gi;
const MARKUP_TAGS =
  /<\/?(?:b|i|u|s|c|v|lang|ruby|rt|rp|font|span|p)(?:[.\s][^<>]{0,200})?>|<[\d:.]{5,15}>|\{\\[^{}]{0,200}\}|\{[a-z]:[^{}]{0,40}\}/gi;
const LINE_BREAKS = /<br\s*\/?>|\\N/gi;

const MUSIC_SIGN = /[♪♫♩♬🎵🎶]/u;
/** Matches text in brackets, which is removed as a note. The name of a known speaker in brackets is read earlier. */
const BRACKETED_WORDS = /\[[^[\]]{1,200}\]|［[^［］]{1,200}］|【[^【】]{1,200}】/g;
const ALL_IN_PARENTHESES = /^\s*(?:[-–—]\s*)?(?:\([^()]{1,300}\)|（[^（）]{1,300}）)\s*$/;
/** A sound in parentheses before the words: `(whispering)`, `(DOOR CLOSES)`, `（太郎）`. */
const PARENTHESES_FIRST =
  /^(\s*(?:[-–—]\s*)?)(\((?:\p{Ll}[^()\n]{0,60}|[^()\p{Ll}\n]{1,60})\)|（[^（）\n]{1,30}）)\s*(?=\S)/u;
const NAME_FIRST = /^(\s*(?:[-–—]\s*)?)[[(（]([^[\]()（）\n]{1,60})[\])）]\s*:?\s*(?=\S)/;
/** Matches the dash before the words of a speaker. A dash before a digit is kept, because it may be a minus sign. */
const DIALOGUE_DASH = /^\s*[-–—‐]+\s*(?=[^\s\d-])/;

/** Returns the spoken words of one line; `null` for none. */
function toSpokenLine(line: string, unspoken: UnspokenList): string | null {
  if (MUSIC_SIGN.test(line)) {
    unspoken.add("song", line.trim());
    return null;
  }
  const withoutBrackets = line.replace(BRACKETED_WORDS, (sound) => {
    unspoken.add("sound", sound);
    return "";
  });
  if (ALL_IN_PARENTHESES.test(withoutBrackets)) {
    unspoken.add("sound", withoutBrackets.trim());
    return null;
  }
  const words = withoutBrackets.replace(PARENTHESES_FIRST, (_, dash: string, sound: string) => {
    unspoken.add("sound", sound);
    return dash;
  });
  return hasWords(words) ? words : null;
}

function joinSpokenLines(text: string, unspoken: UnspokenList): string {
  const trimmed = text.trim();
  // Check the whole text before its lines, because a song or a sound may span several lines.
  const isSong = MUSIC_SIGN.test(trimmed.slice(0, 2)) && MUSIC_SIGN.test(trimmed.slice(-2));
  const isSoundNote = ALL_IN_PARENTHESES.test(trimmed);
  if (isSong || isSoundNote) {
    unspoken.add(isSong ? "song" : "sound", trimmed);
    return "";
  }
  const heard = trimmed
    .replace(BRACKETED_WORDS, (sound) => sound.replaceAll("\n", " "))
    .split("\n")
    .flatMap((line) => {
      const words = toSpokenLine(line, unspoken);
      return words === null ? [] : [words];
    });
  return heard.reduce((all, line) => {
    const words = line.replace(DIALOGUE_DASH, "");
    if (all === "") return words;
    return `${all}${words === line ? "\n" : HARD_BREAK}${words}`;
  }, "");
}

/**
 * Returns what is spoken in a cue, by speaker.
 *
 * @param isKnownSpeaker whether a name is one of the speakers; another name in brackets is read as a sound
 */
export function cleanCueWords(
  lines: readonly string[],
  isKnownSpeaker: (name: string) => boolean,
  unspoken: UnspokenList,
): CueWords[] {
  const text = lines.join("\n").replace(LINE_BREAKS, "\n").replace(RUBY_READING, "");
  const chunks = text.split(VOICE_TAG);
  const names: ReadonlyArray<string | null> = [null, ...chunks.filter((_, index) => index % 2 === 1)];
  return chunks
    .filter((_, index) => index % 2 === 0)
    .flatMap((chunk, index) => {
      const plain = decodeEntities(chunk.replace(MARKUP_TAGS, "")).replaceAll("\\h", " ");
      const [, dash = "", inBrackets = ""] = NAME_FIRST.exec(plain) ?? [];
      const speaker = isKnownSpeaker(inBrackets.trim()) ? inBrackets.trim() : null;
      const words = speaker === null ? plain : `${dash}${plain.replace(NAME_FIRST, "")}`;
      const heard = joinSpokenLines(words, unspoken);
      const tag = names[index] ?? null;
      const name = speaker ?? (tag === null ? null : decodeEntities(tag).trim());
      return heard === "" ? [] : [{ name, text: heard }];
    });
}
