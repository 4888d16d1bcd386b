/**
 * Distinguishes tags of HTML from words in angle brackets, as in `<name of author>` or `Array<string>`. Evidence: form.
 */

const HTML_ELEMENTS: ReadonlySet<string> = new Set(
  (
    "a abbr acronym address applet area article aside audio b base bdi bdo big blockquote body br button canvas " +
    "caption center cite code col colgroup data datalist dd del details dfn dialog dir div dl dt em embed fieldset " +
    "figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img " +
    "input ins kbd label legend li link main map mark math menu meta meter nav noframes noscript object ol " +
    "optgroup option output p param picture pre progress q rb rp rt rtc ruby s samp script search section select " +
    "slot small source span strike strong style sub summary sup svg table tbody td template textarea tfoot th " +
    "thead time title tr track tt u ul var video wbr"
  ).split(" "),
);

export const isHtmlElement = (name: string): boolean => HTML_ELEMENTS.has(name.toLowerCase());

/**
 * Whether angle brackets contain words, and not markup. Markup is an HTML element, a closing tag, a tag with
 * attributes, a comment, a custom element (`my-tag`) or a component (`Tabs`).
 *
 * @param tag with its brackets
 */
export function isWordsInBrackets(tag: string): boolean {
  const name = /^<(\p{L}[\p{L}\p{N}-]*)(?=[\s>])/u.exec(tag)?.[1] ?? "";
  if (name === "" || isHtmlElement(name) || name.includes("-")) return false;
  if (/[="/]/.test(tag)) return false;
  return /\s/.test(tag.trim()) || name === name.toLowerCase();
}
