/**
 * The words by which headings are recognised, by language. To add a language, add an entry here. The language needs
 * code only if it forms its numbers in a new way (docs/recipes/add-chapter-language.md).
 */

interface ChapterWords {
  /** Words before or after the number of a book's section that contains chapters, such as `Book One`. */
  readonly parts?: string;
  /** Words before or after the number of a chapter: `Chapter IV`. */
  readonly chapters?: string;
  /**
   * Words before or after the number of an act, which contains scenes. Each of these words is also in `parts` or in
   * `chapters`.
   */
  readonly acts?: string;
  /** Words before an ordinal: `Chapter the First`. */
  readonly articles?: string;
  /** Words inside a number: `veinte y dos`. */
  readonly connectors?: string;
  /** Endings of an ordinal in figures: `1st`. */
  readonly ordinalSuffixes?: string;
  /** Words that a caller may write before the numbers of chapters: `chapters 3-5`. */
  readonly choice?: string;
  /** Words for numbered things that are not headings: `Figure 2`, `May 5`. */
  readonly otherNumbered?: string;
  /** Headings that have no number. */
  readonly unnumbered?: readonly string[];
  /** Titles above a table of contents, such as `contents`. */
  readonly contents?: readonly string[];
  /** Words on the last line of a book: `the end`. */
  readonly ends?: readonly string[];
  /** The words for the numbers 1, 2, 3 and so on, without a gap. */
  readonly cardinals?: string;
  readonly ordinals?: string;
  readonly feminineOrdinals?: string;
  /** The words for the numbers 20, 30 and so on, without a gap. */
  readonly tens?: string;
  readonly ordinalTens?: string;
  /** Other spellings of numbers. */
  readonly otherNumbers?: Readonly<Record<string, number>>;
}

/** The words of the service's languages, and some words of other languages. All words are in lower case. */
const WORDS_BY_LANGUAGE = {
  en: {
    parts: "part book volume act article",
    chapters: "chapter chap letter stave canto scene section adventure fable lecture sermon essay",
    acts: "act",
    articles: "the",
    connectors: "and",
    ordinalSuffixes: "st nd rd th",
    choice: "chapter chapters ch",
    otherNumbered:
      "fig figs figure figures table tables plate illustration exhibit note notes page pages line verse item question answer speaker image photo example january february march april may june july august september october november december but act's mr dr no",
    unnumbered: [
      "chapter the last",
      ..."prologue epilogue preface foreword introduction afterword appendix".split(" "),
    ],
    contents: ["contents", "table of contents"],
    ends: ["the end", "finis"],
    cardinals:
      "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen",
    ordinals:
      "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth",
    tens: "twenty thirty forty fifty sixty seventy eighty ninety hundred",
    ordinalTens: "twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth",
  },
  es: {
    parts: "parte libro tomo volumen acto artículo",
    chapters: "capítulo capitulo cap carta canto escena aventura sección",
    acts: "acto",
    connectors: "y",
    ordinalSuffixes: "º ª °",
    choice: "capítulo capitulo capítulos capitulos cap",
    otherNumbered: "figura tabla nota pág ejemplo enero febrero marzo abril mayo junio julio agosto octubre",
    unnumbered: "prólogo epílogo prefacio introducción".split(" "),
    contents: "índice indice contenido sumario".split(" "),
    ends: ["fin"],
    cardinals:
      "uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete dieciocho diecinueve",
    ordinals:
      "primero segundo tercero cuarto quinto sexto séptimo octavo noveno décimo undécimo duodécimo decimotercero decimocuarto decimoquinto decimosexto decimoséptimo decimoctavo decimonoveno",
    feminineOrdinals: "primera segunda tercera cuarta quinta sexta séptima octava novena décima",
    tens: "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa cien",
    ordinalTens: "vigésimo trigésimo cuadragésimo",
    otherNumbers: { primer: 1, tercer: 3, ciento: 100 },
  },
  pt: {
    parts: "parte livro tomo volume ato artigo",
    chapters: "capítulo capitulo cap carta canto cena aventura seção",
    acts: "ato",
    connectors: "e",
    ordinalSuffixes: "º ª °",
    choice: "capítulo capitulo capítulos capitulos cap",
    otherNumbered: "figura tabela nota pág exemplo",
    unnumbered: "prólogo epílogo prefácio introdução posfácio".split(" "),
    contents: "índice indice conteúdo sumário".split(" "),
    ends: ["fim"],
    cardinals:
      "um dois três quatro cinco seis sete oito nove dez onze doze treze catorze quinze dezesseis dezessete dezoito dezenove",
    ordinals: "primeiro segundo terceiro quarto quinto sexto sétimo oitavo nono décimo",
    feminineOrdinals: "primeira segunda terceira quarta quinta sexta sétima oitava nona décima",
    tens: "vinte trinta quarenta cinquenta sessenta setenta oitenta noventa cem",
    otherNumbers: { quatorze: 14, cento: 100 },
  },
  id: {
    parts: "bagian buku jilid pasal",
    chapters: "bab surat adegan babak",
    acts: "babak",
    choice: "bab",
    otherNumbered: "tabel gambar hal contoh",
    unnumbered: ["prolog", "epilog", "prakata", "kata pengantar", "pendahuluan", "penutup"],
    contents: ["daftar isi"],
    ends: ["tamat"],
    cardinals: "satu dua tiga empat lima enam tujuh delapan sembilan sepuluh sebelas",
    ordinals: "pertama kedua ketiga keempat kelima keenam ketujuh kedelapan kesembilan kesepuluh kesebelas",
  },
  zh: {
    parts: "部 卷 篇 幕",
    chapters: "章 回 节 節 话 集 夜",
    unnumbered: "序章 序 序言 前言 楔子 引子 尾声 尾聲 后记 後記".split(" "),
    contents: ["目录", "目錄"],
    ends: ["完", "终"],
  },
  ja: {
    parts: "部 巻 篇 編 幕",
    chapters: "章 回 節 話 夜",
    unnumbered: "プロローグ エピローグ 終章 はじめに おわりに あとがき まえがき".split(" "),
    contents: ["目次", "もくじ"],
    ends: ["終"],
  },
  de: { contents: ["inhalt"] },
  nl: { contents: ["inhoud"] },
  fr: { contents: ["table des matières"] },
} as const satisfies Readonly<Record<string, ChapterWords>>;

const WORDS_OF_ALL_LANGUAGES: readonly ChapterWords[] = Object.values(WORDS_BY_LANGUAGE);

type Words = string | readonly string[] | undefined;
const splitWords = (words: Words): readonly string[] =>
  typeof words === "string" ? words.split(" ") : (words ?? []);
const listWords = (choose: (words: ChapterWords) => Words): ReadonlySet<string> =>
  new Set(WORDS_OF_ALL_LANGUAGES.flatMap((words) => splitWords(choose(words))));

/** Words before or after the number of a book's section that contains chapters. */
export const PART_WORDS = listWords(({ parts }) => parts);
/** Words before or after the number of a chapter. */
export const CHAPTER_WORDS = listWords(({ chapters }) => chapters);
/** Words before or after the number of an act. */
export const ACT_WORDS = listWords(({ acts }) => acts);
/** Words that a caller may write before the numbers of chapters. */
export const CHOICE_WORDS = listWords(({ choice }) => choice);
export const ARTICLES = listWords(({ articles }) => articles);
export const NUMBER_CONNECTORS = listWords(({ connectors }) => connectors);
export const ORDINAL_SUFFIXES = listWords(({ ordinalSuffixes }) => ordinalSuffixes);
/**
 * Words beside a number that do not make a heading: names of other things, such as `Figure` in `Figure 2`, and articles
 * and connectors, such as `THE` in `THE FIRST ACT`.
 */
export const NOT_HEADING_WORDS: ReadonlySet<string> = new Set([
  ...listWords(({ otherNumbered }) => otherNumbered),
  ...ARTICLES,
  ...NUMBER_CONNECTORS,
]);
export const UNNUMBERED_HEADINGS = listWords(({ unnumbered }) => unnumbered);
export const CONTENTS_TITLES = listWords(({ contents }) => contents);
export const END_LINES = listWords(({ ends }) => ends);

/** The value of each word that is a number, from 1 to 100. */
export const NUMBER_WORDS: ReadonlyMap<string, number> = new Map(
  WORDS_OF_ALL_LANGUAGES.flatMap(
    ({ cardinals, ordinals, feminineOrdinals, tens, ordinalTens, otherNumbers = {} }) => [
      ...[cardinals, ordinals, feminineOrdinals].flatMap((words) =>
        splitWords(words).map((word, wordIndex) => [word, wordIndex + 1] as const),
      ),
      ...[tens, ordinalTens].flatMap((words) =>
        splitWords(words).map((word, wordIndex) => [word, (wordIndex + 2) * 10] as const),
      ),
      ...Object.entries(otherNumbers),
    ],
  ),
);
