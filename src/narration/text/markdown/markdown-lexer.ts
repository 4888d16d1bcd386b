/** Tokenizes Markdown with `marked`, and bounds the time that a hostile text can take. */
import { Lexer, Marked, type MarkedToken, type Token, type TokenizerExtension } from "marked";
import { AudioError } from "../../../errors.ts";

const FOOTNOTE_TYPE = "footnote";

/** Recognises a footnote `[^1]: …` with its indented lines. The library would read it as a paragraph with links. */
const footnoteDefinition: TokenizerExtension = {
  name: FOOTNOTE_TYPE,
  level: "block",
  tokenizer: (source) => {
    const [raw] =
      /^ {0,3}\[\^[^\]\n]+\]:.*(?:\n(?!\s*\n| {0,3}\[\^).+|\n+(?: {2,}|\t).+)*(?:\n|$)/.exec(source) ?? [];
    return raw === undefined ? undefined : { type: FOOTNOTE_TYPE, raw };
  },
};

const { defaults } = new Marked({ gfm: true, extensions: [footnoteDefinition] });

/** Whether a token comes from the library, and is not our footnote token. */
export const isLibraryToken = (token: Token): token is MarkedToken => token.type !== FOOTNOTE_TYPE;

/**
 * Maximum nesting of lists and quotations. It is limited because parsing nested lists and quotations takes quadratic
 * time.
 */
const MAX_NESTING = 24;
const BLOCK_MARKER = "[ \\t]*(?:>|[-*+](?=[ \\t])|\\d{1,9}[.)](?=[ \\t]))";
const DEEP_MARKERS = new RegExp(`^((?:${BLOCK_MARKER}){${MAX_NESTING}})(?:${BLOCK_MARKER})+`, "gm");
const DEEP_INDENTATION = /^([ \t]{72})[ \t]+/gm;

/** Maximum length of a chunk that is parsed at once. It is limited because unclosed marks take quadratic time. */
const MAX_INLINE_CODE_UNITS = 2000;
/**
 * Patterns, tried in this order: the longest chunk that ends with a line, with a sentence, with a word. If no pattern
 * matches, the chunk ends at its maximum length.
 */
const CHUNK_ENDS = [/^[\s\S]*\n/, /^[\s\S]*[.!?。！？]["”’)]*\s?/, /^[\s\S]*\s/];

/** First characters of inline markup, addresses and hard breaks. A paragraph without them is one text token. */
const INLINE_MARKUP = /[\\<[\]*_`~@]| {2}\n|:\/\/|www\./i;

function* splitIntoChunks(
  source: string,
  max: number,
  ends: readonly RegExp[] = CHUNK_ENDS,
): Generator<string> {
  let rest = source;
  while (rest.length > max) {
    const window = rest.slice(0, max).replace(/[\ud800-\udbff]$/, "");
    const chunk = ends.map((end) => end.exec(window)?.[0]).find((found) => found !== undefined) ?? window;
    yield chunk;
    rest = rest.slice(chunk.length);
  }
  yield rest;
}

/** Maximum length of a block. In longer blocks, the library overflows the stack or fills the memory. */
const MAX_BLOCK_CODE_UNITS = 100_000;
const BLOCK_ENDS = [/^[\s\S]*\n(?=\S)/, ...CHUNK_ENDS];
/** Blocks that lose their meaning when they are divided: fenced code, HTML, tables. */
const INDIVISIBLE_BLOCK = /^ {0,3}(?:`{3}|~{3}|<)|^ {0,3}\|?[ :]*-[-: ]*\|/m;

/**
 * Divides a text into strings that are parsed separately. Cuts only inside blocks that are too long, and never inside
 * fenced code, HTML and tables.
 */
function splitAtBlocks(source: string): string[] {
  if (source.length <= MAX_BLOCK_CODE_UNITS) return [source];
  const pieces: string[] = [];
  let open: string[] = [];
  for (const block of source.split("\n\n")) {
    const isWhole = block.length <= MAX_BLOCK_CODE_UNITS || INDIVISIBLE_BLOCK.test(block);
    for (const [index, chunk] of (isWhole
      ? [block]
      : [...splitIntoChunks(block, MAX_BLOCK_CODE_UNITS, BLOCK_ENDS)]
    ).entries()) {
      if (index > 0) {
        pieces.push(open.join("\n\n"));
        open = [];
      }
      open.push(chunk);
    }
  }
  return [...pieces, open.join("\n\n")];
}

/**
 * Yields the tokens of a text in order, in one or more lists.
 *
 * @param source with `\n` for line ends
 * @throws AudioError `invalid_request` for a block that is too long or too deeply nested for the library
 */
export function* lexMarkdown(source: string): Generator<readonly Token[]> {
  const text = source.replace(DEEP_INDENTATION, "$1").replace(DEEP_MARKERS, "$1");
  for (const piece of splitAtBlocks(text)) yield lexTokens(piece);
}

function lexTokens(source: string): readonly Token[] {
  const lexer = new Lexer(defaults);
  try {
    lexer.blockTokens(source, lexer.tokens);
    for (const { src, tokens } of lexer.inlineQueue) {
      if (src === "" || INLINE_MARKUP.test(src))
        for (const chunk of splitIntoChunks(src, MAX_INLINE_CODE_UNITS)) lexer.inlineTokens(chunk, tokens);
      // Skip the library for paragraphs without markup. Most paragraphs have none.
      else tokens.push({ type: "text", raw: src, text: src, escaped: false });
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new AudioError(
      "invalid_request",
      "The Markdown holds a list, a quotation or a paragraph that is nested too deeply or too long to be read.",
      {
        remedy: "Give the text without this markup, or as a .txt file. Nothing was sent or charged.",
        cause: error,
      },
    );
  }
  return lexer.tokens;
}
