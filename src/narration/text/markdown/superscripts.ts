/**
 * Replaces `<sup>` and `<sub>` by text that can be spoken. Evidence: form. The text before the tag and inside it shows
 * whether the tag belongs to a power, an ordinal, a unit or a formula. A footnote mark is not spoken. Any other text in
 * a tag is kept.
 */
import type { Language } from "../../../contract/voices.ts";
import { guessServiceLanguage } from "../../../text-language.ts";
import type { UnspokenList } from "../blocks.ts";

const SCRIPT_ELEMENT = /(\p{N}{1,20}|\p{L}{1,40}|[^\p{L}\p{N}\s]|)<(su[pb])>([^<>]{1,200})<\/\2>/giu;

const POWER_WORDS: Readonly<Record<Language, string>> = {
  en: " to the power of ",
  es: " elevado a ",
  pt: " elevado a ",
  id: " pangkat ",
  zh: "的$次方",
  ja: "の$乗",
};

const IS_NUMBER = /^[-−+]?[\p{N}.,]+$/u;
/** Matches letters that follow an operator in a formula, such as `mc` in `E = mc`. */
const PRODUCT = /^\p{L}{2,3}$/u;
const OPERATOR = /[=+*/×·−±]\s*$/u;
const LENGTH_UNIT = /^(?:[kcmdnµμ]?m|ft|in|yd|mi|s)$/;
const RAISED_CHARACTERS: Readonly<Record<string, string>> = { "2": "²", "3": "³", "-1": "⁻¹", "−1": "⁻¹" };

function spellPower(base: string, exponent: string, language: Language | null): string {
  const words = language === null ? "^" : POWER_WORDS[language];
  return words.includes("$") ? base + words.replace("$", exponent) : base + words + exponent;
}

/** Returns the base with its raised text; `null` for the mark of a note. */
function speakRaised(base: string, inner: string, language: Language | null): string | null {
  const isNumber = IS_NUMBER.test(inner);
  if (LENGTH_UNIT.test(base) && RAISED_CHARACTERS[inner] !== undefined)
    return base + RAISED_CHARACTERS[inner];
  if (/^[ao]$/.test(inner) && /^(?:\p{N}+|n)$/iu.test(base)) return base + (inner === "a" ? "ª" : "º");
  const isQuantity = /^(?:\p{N}+|\p{L}|[)\]])$/u.test(base);
  if (isQuantity && (isNumber || /^[-−+]?\p{N}*\p{L}$/u.test(inner)))
    return spellPower(base, inner, language);
  // A note mark, as in `note3` or `end.3`.
  if (isNumber || /^(?:[*†‡§]|\[[^\]]{1,40}\])+$/u.test(inner)) return null;
  return appendRaised(base, inner);
}

/** Joins the text of a tag to the word before it, as in `1st`, `Mme` and `H2O`, or separates the two with a space. */
function appendRaised(base: string, inner: string): string {
  const isTight = base === "" || !/\p{L}$/u.test(base) || /^(?:\p{Ll}{1,3}|\p{N}+)$/u.test(inner);
  return isTight ? base + inner : `${base} ${inner}`;
}

const appendLowered = (base: string, inner: string): string => {
  if (!/\p{N}$/u.test(base) || !/^\p{N}/u.test(inner)) return appendRaised(base, inner);
  return `${base}${/\p{L}{2}/u.test(inner) ? " " : "_"}${inner}`;
};

/**
 * Replaces each `<sup>` and `<sub>` element by text that can be spoken. In an English text, `10<sup>6</sup>` becomes
 * `10 to the power of 6`. In a text of unknown language, the same power becomes `10^6`. Adds marks of notes to
 * `unspoken`.
 */
export function spellOutSuperscripts(text: string, unspoken: UnspokenList): string {
  if (!/<su[pb]>/i.test(text)) return text;
  const language = guessServiceLanguage(text);
  return text.replace(SCRIPT_ELEMENT, (_, base: string, tag: string, inner: string, offset: number) => {
    const words = inner.trim();
    if (tag.toLowerCase() === "sub") return appendLowered(base, words);
    const isProduct = PRODUCT.test(base) && OPERATOR.test(text.slice(Math.max(0, offset - 3), offset));
    if (isProduct && IS_NUMBER.test(words)) return spellPower(base, words, language);
    const spoken = speakRaised(base, words, language);
    if (spoken === null) unspoken.add("reference", words);
    return spoken ?? base;
  });
}
