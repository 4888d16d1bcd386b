/** Breaks a sentence into texts that fit a caption: two lines of 42 columns. */

const LINE_COLUMNS = 42;
/** Sixteen characters, as Chinese subtitles have them; Japanese, which has kana, and all else keep the usual width. */
const CHINESE_COLUMNS = 32;
const HAN = /\p{Script=Han}/gu;
const KANA = /[\u3041-\u30ff]/;
const LINES = 2;

/** East Asian characters and emoji, which take two columns. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
/** Behind these a text breaks well. */
const PAUSE = /[,;:.!?…、，；：。！？—–][”’"'»」』)）]*$/u;
/** A line of East Asian text does not begin with these. */
const NEVER_FIRST = /^[、，。．！？；：…”’」』）】》〉ー々ぁぃぅぇぉっゃゅょァィゥェォッャュョ]/u;
/** A line of East Asian text does not end with these. */
const NEVER_LAST = /[“‘「『（【《〈]$/u;

/** A line does not break between a title and the name behind it. */
const BEFORE_NAME = /(?:^|\s)(?:Mr|Mrs|Ms|Dr|Prof|St|Sr|Sra|Srta|Dra|Mme|Mlle|Bpk|Ibu)\.\s$/u;

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

const widthOfOne = (grapheme: string): number => (WIDE.test(grapheme) ? 2 : 1);

function widthOf(text: string): number {
  let columns = 0;
  for (const { segment } of graphemes.segment(text)) columns += widthOfOne(segment);
  return columns;
}

/** Units that are never broken: a word with the space behind it, or one wide character with its marks. */
function atomsOf(text: string): string[] {
  const atoms: string[] = [];
  let open = "";
  for (const { segment } of graphemes.segment(text)) {
    const isFull = widthOf(open) + widthOfOne(segment) > LINE_COLUMNS && /\S/u.test(segment);
    const isBetween = /\s$/u.test(open) || WIDE.test(segment) || WIDE.test(open.at(-1) ?? "");
    const mayPart =
      !/^\s/u.test(segment) &&
      !NEVER_FIRST.test(segment) &&
      !NEVER_LAST.test(open) &&
      !BEFORE_NAME.test(open);
    const isBreak = open !== "" && (isFull || (isBetween && mayPart));
    if (isBreak) {
      atoms.push(open);
      open = "";
    }
    open += segment;
  }
  return open === "" ? atoms : [...atoms, open];
}

/** A piece of text with its width in columns, which is computed once. */
interface Atom {
  readonly text: string;
  /** Includes the white space behind the text. */
  readonly columns: number;
  readonly trimmedColumns: number;
}

/** Fills lines one after the other; `undefined` if they would exceed `most`. */
function linesOf(atoms: readonly Atom[], most: number): string[] | undefined {
  const lines: string[] = [];
  let line = "";
  let columns = 0;
  for (const atom of atoms) {
    if (line !== "" && columns + atom.trimmedColumns > most) {
      lines.push(line.trimEnd());
      line = "";
      columns = 0;
    }
    line += atom.text;
    columns += atom.columns;
  }
  if (line.trim() !== "") lines.push(line.trimEnd());
  return lines.length <= LINES ? lines : undefined;
}

/** Finds where to break in two: near the middle, preferably behind a comma. Returns an index between the first and the last atom. */
function breakOf(atoms: readonly Atom[]): number {
  const total = atoms.reduce((sum, { columns }) => sum + columns, 0);
  let best = { at: 1, cost: Number.POSITIVE_INFINITY };
  let before = 0;
  for (const [index, atom] of atoms.slice(0, -1).entries()) {
    before += atom.columns;
    const cost = Math.abs(before / total - 0.5) + (PAUSE.test(atom.text.trimEnd()) ? 0 : 0.2);
    if (cost < best.cost) best = { at: index + 1, cost };
  }
  return best.at;
}

function pieces(atoms: readonly Atom[], most: number): string[][] {
  const lines = linesOf(atoms, most);
  if (lines !== undefined) return [lines];
  const at = breakOf(atoms);
  return [...pieces(atoms.slice(0, at), most), ...pieces(atoms.slice(at), most)];
}

/** Divides one sentence into cues of one or two lines each. Returns no cue for white space. */
export function cueTexts(sentence: string): string[][] {
  const text = sentence.replace(/\s+/gu, " ").trim();
  if (text === "") return [];
  const isChinese = !KANA.test(text) && 2 * (text.match(HAN)?.length ?? 0) > text.length;
  return pieces(
    atomsOf(text).map((atom) => ({
      text: atom,
      columns: widthOf(atom),
      trimmedColumns: widthOf(atom.trimEnd()),
    })),
    isChinese ? CHINESE_COLUMNS : LINE_COLUMNS,
  );
}

/** The share of a sentence's time that one of its cues takes, relative to its other cues. */
export const cueWeight = (lines: readonly string[]): number =>
  lines.reduce((sum, line) => sum + widthOf(line), 0);
