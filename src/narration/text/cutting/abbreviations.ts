/**
 * Finds full stops of abbreviations, which do not end a sentence. The same lists serve all languages, because a text
 * may mix languages.
 */

const wordSet = (words: string): ReadonlySet<string> => new Set(words.split(" "));

/** Abbreviations that stand before a name or another word. They are also recognised in capitals (`MR`). */
const TITLES = wordSet(
  "Mr Mrs Ms Messrs Mx Dr Drs Prof Profa St Sta Sto Sr Sra Srta Sres Dra Dña Ud Uds Vd Vds Fr Rev Hon Gen Col Capt Lt Sgt Cpl Gov Sen Rep Pres Mt Ft Mme Mlle Exmo Exma Ilmo Ilma Bpk Sdr Sdri Ir Yth Jl Jln Tn Ny Av Avda Apdo EE Pub Va Mont Stat Supp Cir Univ Dept",
);

/** Abbreviations that never end a sentence. */
const NEVER_ENDING = wordSet(
  "vs cf viz approx esp ca dr dra drs sr sra srta prof lic ing ej tlp hlm yth vgl resp al",
);

/**
 * Abbreviations that are recognised only before a number. Elsewhere, most of them are words, such as `no` and `art`.
 */
const BEFORE_NUMBER = wordSet(
  "no nos nº nr núm num art arts fig figs pág págs pag pags pp vol vols ch cap sec ed eds par eq tab jan feb mar apr jun jul aug sep sept oct nov dec ene abr ago dic dez fev set out no tgl th thn pkl pk ext tel",
);

/** Abbreviations that end a sentence if a capital letter follows. */
const OR_END = wordSet(
  "etc dll dsb dst a.m p.m a.C d.C a.c d.c s.d inc ltd co corp jr uu ss et.al cía ltda s.a s.l tbk pt cv",
);

/** Words after which `I` is a pronoun, not the initial of a name. */
const BEFORE_PRONOUN = wordSet(
  "am are was were do did does don't didn't as than can could will would shall should may might must have had has and or nor neither so but not that",
);

/** Returns the word that ends at an index, including full stops inside it (`a.m`). */
function getWordBefore(text: string, end: number): string {
  return /[\p{L}\p{M}\p{N}.'’]+$/u.exec(text.slice(Math.max(0, end - 24), end))?.[0] ?? "";
}

const isTitle = (word: string): boolean =>
  TITLES.has(word) ||
  (word.length > 1 &&
    word === word.toUpperCase() &&
    TITLES.has(word.charAt(0) + word.slice(1).toLowerCase()));

/** The number of a list item or a chapter at the beginning of a paragraph. */
const ENUMERATOR = /^[([]?(?:\d{1,3}(?:\.\d{1,3}){0,3}|[IVXLC]{1,7})$/;
const MAX_ENUMERATOR_CODE_UNITS = 16;

/**
 * Whether a single full stop belongs to an abbreviation, and therefore does not end a sentence.
 *
 * @param text one paragraph
 * @param stop index of the full stop; white space follows it
 * @param next the first letter, digit or mark after the white space
 */
export function isAbbreviation(text: string, stop: number, next: string): boolean {
  if (stop <= MAX_ENUMERATOR_CODE_UNITS && ENUMERATOR.test(text.slice(0, stop))) return true;
  const word = getWordBefore(text, stop).replace(/^['’.]+/, "");
  if (word === "") return false;
  if (OR_END.has(word) || OR_END.has(word.toLowerCase())) return !/\p{Lu}/u.test(next);
  const last = word.slice(word.lastIndexOf(".") + 1);
  if (/^[\p{Lu}\p{Ll}]\p{M}*$/u.test(last)) return !isPronoun(text, stop, word);
  if (isTitle(last) || NEVER_ENDING.has(last)) return true;
  // Recognise abbreviations in citations, such as `164 Mont. 30` and `Cal. § 12`.
  if (/^\p{Lu}\p{L}{0,3}$/u.test(last) && /[\p{Nd}§]/u.test(next)) return true;
  if (next === "§" && /^\p{Lu}/u.test(last)) return true;
  return BEFORE_NUMBER.has(last.toLowerCase()) && /\p{Nd}/u.test(next);
}

function isPronoun(text: string, stop: number, word: string): boolean {
  if (word !== "I") return false;
  return BEFORE_PRONOUN.has(getWordBefore(text, text.slice(0, stop - 1).trimEnd().length).toLowerCase());
}
