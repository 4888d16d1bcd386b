/** Breaks a sentence into texts that fit a caption: two lines of 42 columns. */

const LINE_COLUMNS = 42;
/**
 * Line width of Chinese text in columns. It is 16 characters of two columns each, as usual in Chinese subtitles. Text
 * with kana is Japanese, and has lines of {@link LINE_COLUMNS}.
 */
const CHINESE_COLUMNS = 32;
const HAN_CHARACTERS = /\p{Script=Han}/gu;
const KANA_CHARACTER = /[\u3041-\u30ff]/;
const MAX_CUE_LINES = 2;

/** Matches East Asian characters and emoji, which take two columns. */
const WIDE_CHARACTER =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
/** Matches punctuation that is a good place for a line break. */
const ENDS_WITH_PAUSE = /[,;:.!?…、，；：。！？—–][”’"'»」』)）]*$/u;
/** Matches text whose first character must not begin a line of East Asian text, such as a comma. */
const NEVER_FIRST = /^[、，。．！？；：…”’」』）】》〉ー々ぁぃぅぇぉっゃゅょァィゥェォッャュョ]/u;
/** Matches text whose last character must not end a line of East Asian text, such as an opening bracket. */
const NEVER_LAST = /[“‘「『（【《〈]$/u;

/** Matches a title such as "Mr." at the end of a text. No line breaks between the title and the name that follows. */
const BEFORE_NAME = /(?:^|\s)(?:Mr|Mrs|Ms|Dr|Prof|St|Sr|Sra|Srta|Dra|Mme|Mlle|Bpk|Ibu)\.\s$/u;

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

const measureGraphemeWidth = (grapheme: string): number => (WIDE_CHARACTER.test(grapheme) ? 2 : 1);

function measureTextWidth(text: string): number {
  let columns = 0;
  for (const { segment } of graphemes.segment(text)) columns += measureGraphemeWidth(segment);
  return columns;
}

/**
 * Splits text into atoms, which are never broken across two lines: a word with the space after it, or a wide character
 * with its punctuation.
 */
function splitAtoms(text: string): string[] {
  const atoms: string[] = [];
  let openAtom = "";
  for (const { segment } of graphemes.segment(text)) {
    const isFull =
      measureTextWidth(openAtom) + measureGraphemeWidth(segment) > LINE_COLUMNS && /\S/u.test(segment);
    const isBetween =
      /\s$/u.test(openAtom) || WIDE_CHARACTER.test(segment) || WIDE_CHARACTER.test(openAtom.at(-1) ?? "");
    const mayPart =
      !/^\s/u.test(segment) &&
      !NEVER_FIRST.test(segment) &&
      !NEVER_LAST.test(openAtom) &&
      !BEFORE_NAME.test(openAtom);
    const isBreak = openAtom !== "" && (isFull || (isBetween && mayPart));
    if (isBreak) {
      atoms.push(openAtom);
      openAtom = "";
    }
    openAtom += segment;
  }
  return openAtom === "" ? atoms : [...atoms, openAtom];
}

/** A stretch of text that is never broken across two lines. Its width in columns is computed once. */
interface Atom {
  readonly text: string;
  /** Width including the white space after the text. */
  readonly columns: number;
  readonly trimmedColumns: number;
}

/** Fills lines of at most `max` columns, one after the other. Returns undefined if two lines are too few. */
function breakIntoLines(atoms: readonly Atom[], max: number): string[] | undefined {
  const lines: string[] = [];
  let line = "";
  let columns = 0;
  for (const atom of atoms) {
    if (line !== "" && columns + atom.trimmedColumns > max) {
      lines.push(line.trimEnd());
      line = "";
      columns = 0;
    }
    line += atom.text;
    columns += atom.columns;
  }
  if (line.trim() !== "") lines.push(line.trimEnd());
  return lines.length <= MAX_CUE_LINES ? lines : undefined;
}

/**
 * Finds the place at which a text breaks in two. Returns the index of the atom that begins the second half. Prefers a
 * break near the middle, and after punctuation.
 */
function findBreak(atoms: readonly Atom[]): number {
  const total = atoms.reduce((sum, { columns }) => sum + columns, 0);
  let best = { at: 1, cost: Number.POSITIVE_INFINITY };
  let before = 0;
  for (const [index, atom] of atoms.slice(0, -1).entries()) {
    before += atom.columns;
    const cost = Math.abs(before / total - 0.5) + (ENDS_WITH_PAUSE.test(atom.text.trimEnd()) ? 0 : 0.2);
    if (cost < best.cost) best = { at: index + 1, cost };
  }
  return best.at;
}

function splitIntoCues(atoms: readonly Atom[], max: number): string[][] {
  const lines = breakIntoLines(atoms, max);
  if (lines !== undefined) return [lines];
  const breakIndex = findBreak(atoms);
  return [...splitIntoCues(atoms.slice(0, breakIndex), max), ...splitIntoCues(atoms.slice(breakIndex), max)];
}

/** Divides one sentence into cues of one or two lines each. Returns no cue for white space. */
export function splitIntoCueTexts(sentence: string): string[][] {
  const text = sentence.replace(/\s+/gu, " ").trim();
  if (text === "") return [];
  const isChinese = !KANA_CHARACTER.test(text) && 2 * (text.match(HAN_CHARACTERS)?.length ?? 0) > text.length;
  return splitIntoCues(
    splitAtoms(text).map((atom) => ({
      text: atom,
      columns: measureTextWidth(atom),
      trimmedColumns: measureTextWidth(atom.trimEnd()),
    })),
    isChinese ? CHINESE_COLUMNS : LINE_COLUMNS,
  );
}

/**
 * Returns the weight of a cue. The cues of a sentence share the time of the sentence in proportion to their weights.
 */
export const measureCueWeight = (lines: readonly string[]): number =>
  lines.reduce((sum, line) => sum + measureTextWidth(line), 0);
