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
  /** The words, with `\n` for soft line breaks and {@link HARD_BREAK} before each other speaker, also at the start. */
  readonly text: string;
}

const VOICE_TAG = /<v(?:\.[^<>\s]{0,60})?\s+([^<>]{1,100})>/gi;
const RUBY_READING = /<rt>[^<>]{0,200}(?:<\/rt>|$)/gi;
const MARKUP_TAGS =
  /<\/?(?:b|i|u|s|c|v|lang|ruby|rt|rp|font|span|p)(?:[.\s][^<>]{0,200})?>|<[\d:.]{5,15}>|\{\\[^{}]{0,200}\}|\{[a-z]:[^{}]{0,40}\}/gi;
const LINE_BREAKS = /<br\s*\/?>|\\N/gi;

const MUSIC_SIGN = /[♪♫♩♬🎵🎶]/u;
/** Matches a song between `#`, as British subtitles mark it, or one of its lines. `#1` and `#metoo` are no songs. */
const HASHED_SONG = /^#\s*[^\s\d#][^#]*#$/;
const HASHED_LINE = /^\s*(?:[-–—]\s*)?#(?: +[^\s\d#]|[^\s\d#][^#]*#\s*$)|\s#\s*$/;
const isSongLine = (line: string): boolean => MUSIC_SIGN.test(line) || HASHED_LINE.test(line);
/** Matches text in brackets, which is removed as a note. The name of a known speaker in brackets is read earlier. */
const BRACKETED_WORDS = /\[[^[\]]+\]|［[^［］]+］|【[^【】]+】/g;
const ALL_IN_PARENTHESES = /^\s*(?:[-–—]\s*)?(?:\([^()]{1,300}\)|（[^（）]{1,300}）)\s*$/;
/** A sound in parentheses before the words: `(whispering)`, `(DOOR CLOSES)`, `（太郎）`. */
const PARENTHESES_FIRST =
  /^(\s*(?:[-–—]\s*)?)(\((?:\p{Ll}[^()\n]{0,60}|[^()\p{Ll}\n]{1,60})\)|（[^（）\n]{1,30}）)\s*(?=\S)/u;
const NAME_FIRST = /^(\s*(?:[-–—]\s*)?)[[(（]([^[\]()（）\n]{1,60})[\])）]\s*:?\s*(?=\S)/;
/**
 * The mark of another speaker before the words: a dash or `>>`. A dash before a digit is kept, because it may be a minus
 * sign.
 */
const SPEAKER_MARK = /^\s*(?:[-–—‐]\s*(?=[^\s\d–—‐-])|>{2,3}\s*)/;
/** `--` or `—` before words that continue an interrupted sentence; no other speaker begins. */
const RESUMING_DASH = /^\s*(?:[-–—‐]{2,}\s*(?=[^\s\d])|—(?=\p{Ll}))/u;

const TAGS = "(?:<[^<>]{1,40}>|\\{[^{}]{1,40}\\}|[\\s–—-])";
/** A bracket that a cue does not close, and its end in the next cue. Parentheses must fill both cues. */
const OPEN_BRACKET = new RegExp(`[[［【][^[\\]［］【】]*$|^${TAGS}{0,6}\\([^()]*$`);
const CLOSED_BRACKET = new RegExp(`^(?:[^[\\]［］【】]*[\\]］】]|[^()]*\\)(?=${TAGS}*$))`);

/** Returns the lines of each cue. The end of a bracket that spans two cues is moved into the first. */
export function joinSplitBrackets(cues: ReadonlyArray<{ readonly lines: readonly string[] }>): string[][] {
  const texts = cues.map(({ lines }) => lines.join("\n"));
  for (const [index, text] of texts.entries()) {
    const [open] = OPEN_BRACKET.exec(text) ?? [];
    const [end] = open === undefined ? [] : (CLOSED_BRACKET.exec(texts[index + 1] ?? "") ?? []);
    if (end === undefined || end.endsWith(")") !== /\([^()[]*$/.test(`${open}`)) continue;
    texts[index] = `${text} ${end}`;
    texts[index + 1] = (texts[index + 1] ?? "").slice(end.length);
  }
  return texts.map((text) => text.split("\n"));
}

/** Returns the spoken words of one line; `null` for none. */
function toSpokenLine(line: string, unspoken: UnspokenList): string | null {
  if (isSongLine(line)) {
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

/** Returns the words, with {@link HARD_BREAK} before those of another speaker. */
function joinSpokenLines(text: string, unspoken: UnspokenList): string {
  const trimmed = text.trim();
  // Check the whole text before its lines, because a song or a sound may span several lines.
  const isSong =
    HASHED_SONG.test(trimmed) || (MUSIC_SIGN.test(trimmed.slice(0, 2)) && MUSIC_SIGN.test(trimmed.slice(-2)));
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
    const resumed = line.replace(RESUMING_DASH, "");
    const words = resumed.replace(SPEAKER_MARK, "");
    if (words !== resumed) return `${all}${HARD_BREAK}${words}`;
    return all === "" ? words : `${all}\n${words}`;
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
      const marked = joinSpokenLines(words, unspoken);
      const tag = names[index] ?? null;
      const name = speaker ?? (tag === null ? null : decodeEntities(tag).trim());
      // A dash beside a name adds nothing.
      const heard = name === null ? marked : marked.replace(new RegExp(`^${HARD_BREAK}`), "");
      return heard === "" ? [] : [{ name, text: heard }];
    });
}
