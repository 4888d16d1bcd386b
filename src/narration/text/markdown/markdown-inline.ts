/** Reads the words of Markdown's inline tokens, without marks, addresses and tags. */
import type { MarkedToken, Token, Tokens } from "marked";
import type { UnspokenList } from "../blocks.ts";
import { hasWords } from "../characters.ts";
import { dropUnspoken, HARD_BREAK } from "../normalize.ts";
import { extractHost, shortenAddresses } from "../plain/web-addresses.ts";
import { ITALIC_MARK } from "../speakers/speaker-labels.ts";
import { decodeEntities } from "./entities.ts";
import { isWordsInBrackets } from "./html-elements.ts";
import { isLibraryToken } from "./markdown-lexer.ts";

/** A footnote mark such as `[^1]`, which is not spoken. */
const FOOTNOTE_MARK = /\[\^[^\][\s]+\]/g;

/**
 * Matches marks of emphasis that CommonMark does not recognise beside Chinese or Japanese punctuation. The asterisks in
 * `2**3` do not match.
 */
const STRAY_EMPHASIS = /(?<![A-Za-z0-9])\*{2,3}|\*{2,3}(?![A-Za-z0-9])/g;

/** Status badges of projects. Evidence: form of the address. */
const BADGE_ADDRESS = /shields\.io|badge|badgen\.net|\/workflows\/[^?]*\.svg|travis-ci|codecov\.io/i;

/** Whether a link contains only a badge or an SVG image. */
function isBadge({ tokens }: Tokens.Link): boolean {
  const [image, ...more] = tokens;
  return (
    more.length === 0 &&
    image?.type === "image" &&
    (BADGE_ADDRESS.test(`${image["href"]}`) || /\.svg(?:\?|$)/i.test(`${image["href"]}`))
  );
}

function toSpokenText(text: string): string {
  const words = dropUnspoken(decodeEntities(text)).replace(FOOTNOTE_MARK, "").replace(STRAY_EMPHASIS, "");
  return shortenAddresses(words);
}

/** Tags that begin or end a line, such as those of a list inside a table cell. */
const LINE_TAG = /^<(?:br|\/?(?:li|ul|ol|p|div|tr|dt|dd|h[1-6]))\b/i;

function speakToken(token: MarkedToken, unspoken: UnspokenList): string {
  switch (token.type) {
    case "text":
      // Use the raw text. In `text`, the library has already decoded some references, which must not be decoded twice.
      return token.tokens === undefined ? toSpokenText(token.raw) : renderInlineText(token.tokens, unspoken);
    case "escape":
    case "codespan":
      return token.text;
    case "br":
      return HARD_BREAK;
    case "html":
      if (LINE_TAG.test(token.text)) return HARD_BREAK;
      return isWordsInBrackets(token.text) ? token.text : "";
    case "link":
      if (isBadge(token)) {
        unspoken.add("badge", token.text);
        return "";
      }
      return token.autolink === true
        ? getSpokenAddress(token.href, token.text)
        : renderInlineText(token.tokens, unspoken);
    case "image": {
      if (BADGE_ADDRESS.test(token.href)) {
        unspoken.add("badge", token.text || token.href);
        return "";
      }
      const alternative = renderInlineText(token.tokens, unspoken) || toSpokenText(token.text);
      if (!hasWords(alternative)) unspoken.add("image", token.href);
      return alternative;
    }
    case "em": {
      const words = renderInlineText(token.tokens, unspoken);
      return /^\([^()\n]+\)$/.test(words) ? ITALIC_MARK + words : words;
    }
    case "strong":
    case "del":
      return renderInlineText(token.tokens, unspoken);
    default:
      // Other tokens are not spoken, such as the check box of a list item.
      return "";
  }
}

/** Speaks a web address as its host, and a mail address unchanged. */
const getSpokenAddress = (href: string, text: string): string =>
  /^https?:/i.test(href) ? extractHost(href) : text;

/**
 * Returns the words of inline tokens as they are spoken.
 *
 * @returns text with `\n` for soft line breaks and {@link HARD_BREAK} for hard line breaks
 */
export function renderInlineText(tokens: readonly Token[], unspoken: UnspokenList): string {
  let text = "";
  for (const token of tokens) if (isLibraryToken(token)) text += speakToken(token, unspoken);
  return text.normalize("NFC");
}
