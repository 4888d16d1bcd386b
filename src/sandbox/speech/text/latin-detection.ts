/** Guesses which of the service's languages a text in Latin letters is written in. */

export type LatinLanguage = "en" | "es" | "pt" | "id";

const parseWords = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/));

/** The most common short words of each language. A word that two languages share counts for both. */
const COMMON_WORDS: Readonly<Record<LatinLanguage, ReadonlySet<string>>> = {
  en: parseWords(`the a an and or of to in on at is are was were be been it this that these you i we he she they for
    with as by from not have has had do does will would can could there what when where who how your my
    our their me`),
  es: parseWords(`el la los las un una unos unas y o de del al en que es son está están por para con como su sus se no
    lo le les mi me te este esta esto muy más pero hola gracias buenos buenas días soy eres fue hay qué
    cómo dónde`),
  pt: parseWords(`o a os as um uma uns umas e ou de do da dos das em no na nos nas que é são está por para com como
    seu sua se não lhe eu você meu minha este esta isto isso muito mais mas olá obrigado obrigada bom
    dia foi há ao à`),
  id: parseWords(`yang dan di ke dari ini itu untuk dengan adalah pada tidak akan saya kamu anda kami kita mereka dia
    ada bisa sudah belum juga atau karena apa siapa selamat pagi siang malam terima kasih halo sangat
    lebih dalam`),
};

/**
 * Letters and marks that occur in only one of the languages. A text that contains any of them gives that language as
 * many points as three common words.
 */
const TELLING_MARKS: Readonly<Partial<Record<LatinLanguage, RegExp>>> = { es: /[ñ¿¡]/u, pt: /[ãõç]/u };
const TELLING_WEIGHT = 3;

const LANGUAGES: readonly LatinLanguage[] = ["en", "es", "pt", "id"];

/**
 * Returns the language with the most evidence, or null if there is no evidence or a tie.
 *
 * @param text in lower case and composed form
 */
export function detectLatinLanguage(text: string): LatinLanguage | null {
  const words = text.match(/\p{Script=Latin}+/gu) ?? [];
  const [best, second] = LANGUAGES.map((language) => {
    const marks = TELLING_MARKS[language]?.test(text) ? TELLING_WEIGHT : 0;
    return { language, score: marks + words.filter((word) => COMMON_WORDS[language].has(word)).length };
  }).sort((one, other) => other.score - one.score);
  return best === undefined || best.score === (second?.score ?? 0) ? null : best.language;
}
