/** Takes Markdown apart with `marked`, and bounds what a text made to take forever can cost. */
import { Lexer, Marked, type MarkedToken, type Token, type TokenizerExtension } from "marked";
import { AudioError } from "../../errors.ts";

const FOOTNOTE = "footnote";

/** `[^1]: …` with its indented lines; without this it would be a paragraph, and its marks links. */
const footnoteDefinition: TokenizerExtension = {
  name: FOOTNOTE,
  level: "block",
  tokenizer: (source) => {
    const [raw] =
      /^ {0,3}\[\^[^\]\n]+\]:.*(?:\n(?!\s*\n| {0,3}\[\^).+|\n+(?: {2,}|\t).+)*(?:\n|$)/.exec(source) ?? [];
    return raw === undefined ? undefined : { type: FOOTNOTE, raw };
  },
};

const { defaults } = new Marked({ gfm: true, extensions: [footnoteDefinition] });

/** The only token of ours that stands among those of the library. */
export const isOfLibrary = (token: Token): token is MarkedToken => token.type !== FOOTNOTE;

/** Lists and quotations inside each other: what nobody writes, and what costs the square of its depth. */
const NESTING_MAX = 24;
const MARKER = "[ \\t]*(?:>|[-*+](?=[ \\t])|\\d{1,9}[.)](?=[ \\t]))";
const DEEP_MARKERS = new RegExp(`^((?:${MARKER}){${NESTING_MAX}})(?:${MARKER})+`, "gm");
const DEEP_INDENTATION = /^([ \t]{72})[ \t]+/gm;

/** Unclosed marks cost the square of a paragraph's length, so long ones are read piece by piece. */
const INLINE_MAX_UNITS = 2000;
/** The last end of a line, a sentence or a word; where there is none, anywhere. */
const PIECE_ENDS = [/^[\s\S]*\n/, /^[\s\S]*[.!?。！？]["”’)]*\s?/, /^[\s\S]*\s/];

/** First characters of inline markup, addresses and hard breaks. A paragraph without them is one text token. */
const MARKS = /[\\<[\]*_`~@]| {2}\n|:\/\/|www\./i;

function* piecesOf(source: string, most: number, ends: readonly RegExp[] = PIECE_ENDS): Generator<string> {
  let rest = source;
  while (rest.length > most) {
    const window = rest.slice(0, most).replace(/[\ud800-\udbff]$/, "");
    const piece = ends.map((end) => end.exec(window)?.[0]).find((found) => found !== undefined) ?? window;
    yield piece;
    rest = rest.slice(piece.length);
  }
  yield rest;
}

/** The library's patterns overflow the stack in a longer paragraph, and its tokens of a longer list fill the memory. */
const BLOCK_MAX_UNITS = 100_000;
const BLOCK_ENDS = [/^[\s\S]*\n(?=\S)/, ...PIECE_ENDS];
/** Blocks that lose their meaning when they are divided: fenced code, HTML, tables. */
const WHOLE = /^ {0,3}(?:`{3}|~{3}|<)|^ {0,3}\|?[ :]*-[-: ]*\|/m;

/** Texts to be read one after the other: all of it, but where a stretch without a blank line is too long. */
function stretchesOf(source: string): string[] {
  if (source.length <= BLOCK_MAX_UNITS) return [source];
  const stretches: string[] = [];
  let open: string[] = [];
  for (const block of source.split("\n\n")) {
    const isWhole = block.length <= BLOCK_MAX_UNITS || WHOLE.test(block);
    for (const [index, piece] of (isWhole
      ? [block]
      : [...piecesOf(block, BLOCK_MAX_UNITS, BLOCK_ENDS)]
    ).entries()) {
      if (index > 0) {
        stretches.push(open.join("\n\n"));
        open = [];
      }
      open.push(piece);
    }
  }
  return [...stretches, open.join("\n\n")];
}

/**
 * The tokens of a text, stretch by stretch.
 *
 * @param source with `\n` for line ends
 * @throws AudioError `invalid_request` for a block that is nested deeper, or longer, than the library can read
 */
export function* lexMarkdown(source: string): Generator<readonly Token[]> {
  const text = source.replace(DEEP_INDENTATION, "$1").replace(DEEP_MARKERS, "$1");
  for (const stretch of stretchesOf(text)) yield tokensOf(stretch);
}

function tokensOf(source: string): readonly Token[] {
  const lexer = new Lexer(defaults);
  try {
    lexer.blockTokens(source, lexer.tokens);
    for (const { src, tokens } of lexer.inlineQueue) {
      if (src === "" || MARKS.test(src))
        for (const piece of piecesOf(src, INLINE_MAX_UNITS)) lexer.inlineTokens(piece, tokens);
      // Most paragraphs of a novel: the library would look for each mark in turn.
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
