/** What is spoken of an HTML page, and what is reported as not spoken. */
import { describe, expect, it } from "vitest";
import { parseHtml } from "../../../src/narration/books/parse-html.ts";
import { type SourceBlock, UnspokenList } from "../../../src/narration/text/blocks.ts";
import { HARD_BREAK } from "../../../src/narration/text/normalize.ts";
import { planBlocks } from "../../../src/narration/text/plan-text.ts";

const wordsOf = (block: SourceBlock): string => {
  switch (block.kind) {
    case "heading":
      return `${"#".repeat(block.level)} ${block.text}`;
    case "paragraph":
      return block.text.replaceAll(HARD_BREAK, "/").replace(/\s+/g, " ");
    default:
      return `[${block.kind}]`;
  }
};

function spokenTextOf(html: string) {
  const unspoken = new UnspokenList();
  const { blocks, title, author } = parseHtml(html, unspoken);
  const unspokenRows = unspoken.rows().map(({ kind, count }) => `${kind} ${count}`);
  return { words: blocks.map(wordsOf), title, author, unspokenRows };
}

describe("a page of HTML", () => {
  it("names its title and author", () => {
    const page = spokenTextOf(
      '<!doctype html><title>Late &amp; early</title><meta name="author" content="Jo Doe"><p>Words.',
    );
    expect(page).toMatchObject({ title: "Late & early", author: "Jo Doe", words: ["Words."] });
  });

  it.each([
    ["The Project Gutenberg eBook of Trial by Jury, by W. S. Gilbert", "Trial by Jury", "W. S. Gilbert"],
    ["The Project Gutenberg E-text of Emma, by Jane Austen.", "Emma", "Jane Austen"],
    ["Project Gutenberg's Emma, by Jane Austen", "Emma", "Jane Austen"],
    ["Emma | Project Gutenberg", "Emma", null],
    ["Project Gutenberg's founder dies", "Project Gutenberg's founder dies", null],
  ])("names the book of Project Gutenberg: %s", (title, book, author) => {
    expect(spokenTextOf(`<title>${title}</title><p>A.`)).toMatchObject({ title: book, author });
  });

  it.each<readonly [what: string, html: string, words: readonly string[], unspokenRows: readonly string[]]>([
    ["scripts and styles", "<style>p{}</style><p>A.</p><script>let a = 1;</script>", ["A."], []],
    ["the style sheet of a picture", "<p>A.</p><svg><style>.a{fill:red}</style></svg>", ["A."], []],
    ["marks of notes", "<p>A.<sup>12</sup></p>", ["A."], ["reference 1"]],
    ["menus", "<nav><a href='/'>Home</a></nav><p>A.</p>", ["A."], ["navigation 1"]],
    ["asides", "<p>A.</p><aside>By the way.</aside>", ["A."], ["aside 1"]],
    ["forms", "<p>A.</p><form>Your name <input></form>", ["A."], ["navigation 1"]],
    ["what is hidden", "<p>A.</p><p hidden>B.</p><p style='display: none'>C.</p>", ["A."], ["hidden 2"]],
    ["the foot of a page", "<p>A.</p><footer>All rights reserved.</footer>", ["A."], ["navigation 1"]],
    [
      "the head of a page, but for its heading",
      "<header><h1>One</h1><p>Log in</p></header><p>A.</p>",
      ["# One", "A."],
      ["navigation 1"],
    ],
    [
      "all but the main part by its role",
      "<p>Ad.</p><div role='main'><p>A.</p></div><p>Read next.</p>",
      ["A."],
      ["navigation 2"],
    ],
    [
      "frames by their roles",
      "<div role='banner'><h1>News</h1></div><p>A.</p><div role='search'><p>Find.</p></div><div role='navigation'><p>Home.</p></div><div role='contentinfo'><p>Privacy.</p></div><div role='complementary'><p>Ads.</p></div>",
      ["A."],
      ["navigation 4", "aside 1"],
    ],
    [
      "frames by their roles, but not the main part inside them",
      "<div role='complementary'><p>Ads.</p><div role='main'><p>A.</p></div><p>More.</p></div>",
      ["A."],
      ["aside 1", "navigation 1"],
    ],
    [
      "forms, but not a page inside a form",
      "<form><p>Search.</p><div><h1>One</h1><p>A.</p></div><p>B.</p></form>",
      ["# One", "A.", "B."],
      ["navigation 1"],
    ],
    ["all but the main part", "<p>Ad.</p><main><p>A.</p></main>", ["A."], ["navigation 1"]],
    [
      "all but the article, whose own head is spoken",
      "<p>Ad.</p><article><header><h1>One</h1><p>By Jo.</p></header><p>A.</p></article>",
      ["# One", "By Jo.", "A."],
      ["navigation 1"],
    ],
    ["code", "<p>A.</p><pre><code>let a = f(1);</code></pre>", ["A."], ["code 1"]],
    ["pictures", "<p>A.</p><figure><img src='a.png' alt='A red house'></figure>", ["A."], ["illustration 1"]],
    [
      "pictures, but not what stands below them",
      "<figure><img src='a.png'><figcaption>A house.</figcaption></figure>",
      ["A house."],
      ["image 1"],
    ],
    [
      "readings of characters",
      "<p><ruby>漢字<rp>(</rp><rt>かんじ</rt></ruby>だ。</p>",
      ["漢字だ。"],
      ["ruby 1"],
    ],
    ["marks of notes", "<p>Late<a role='doc-noteref' href='#n'>1</a>.</p>", ["Late."], ["reference 1"]],
    ["raised marks of notes", "<p>Late.<sup>12</sup></p>", ["Late."], ["reference 1"]],
    ["drawn styles", "<p>A.</p><svg><style>.a{fill:red}</style><text>B</text></svg>", ["A."], ["image 1"]],
    [
      "numbers of lines of verse",
      `<p>${Array.from({ length: 15 }, (_, n) => `Line,${(n + 1) % 5 === 0 ? `<span>${n + 1}</span>` : ""}`).join("<br>")}</p>`,
      [Array(15).fill("Line,").join("/")],
      ["line_number 3"],
    ],
    [
      "the frame of Project Gutenberg, and the names of producers",
      "<p>*** START OF THE PROJECT GUTENBERG EBOOK A ***</p><p>Produced by Jo</p><p>A.</p><p>End of the Project Gutenberg EBook of A, by B</p><p>*** END OF THE PROJECT GUTENBERG EBOOK A ***</p><p>Licence.</p>",
      ["A."],
      ["ebook_frame 2"],
    ],
    [
      "the heading of notes above a licence",
      "<p>*** START OF THE PROJECT GUTENBERG EBOOK A ***</p><p>A.</p><h2>NOTES</h2><div role='doc-endnotes'><p>B.</p></div><p>*** END OF THE PROJECT GUTENBERG EBOOK A ***</p><p>License.</p>",
      ["A."],
      ["ebook_frame 1", "footnote 1"],
    ],
    ["notes", "<p>A.</p><section role='doc-endnotes'><p>B.</p></section>", ["A."], ["footnote 1"]],
    [
      "the links and raised marks of MediaWiki",
      "<h2>One<span class='mw-editsection'>[<a>edit</a>]</span></h2><p>A<sup class='Inline-Template'>[<i>citation needed</i>]</sup> b.<sup class='reference'>:p. 234</sup></p>",
      ["# One".replace("#", "##"), "A b."],
      ["navigation 1", "reference 2"],
    ],
    ["long marks of notes in brackets", "<p>A.<sup>[who said so?]</sup></p>", ["A."], ["reference 1"]],
    [
      "formulas that are hidden beside their pictures",
      "<p>If <span><span style='display: none'><math><mi>a</mi></math></span><img aria-hidden='true' alt='a'></span> is, b.</p>",
      ["If is, b."],
      ["math 1"],
    ],
    [
      "formulas of MathJax, without a break of the sentence",
      "<p>If <mjx-container><mjx-math></mjx-math><mjx-assistive-mml><math><mi>a</mi></math></mjx-assistive-mml></mjx-container> is, b.</p>",
      ["If is, b."],
      ["math 1"],
    ],
    [
      "the name above contents, with them",
      `<p>Table of Contents</p><ul>${["a", "b", "c", "d", "e"].map((id) => `<li><a href="#${id}">The ${id}</a></li>`).join("")}</ul><p>A.</p>`,
      ["A."],
      ["book_matter 1"],
    ],
  ])("omits %s", (_, html, words, unspokenRows) => {
    const page = spokenTextOf(html);
    expect(page.words).toEqual(words);
    expect(page.unspokenRows).toEqual(unspokenRows);
  });

  it.each<readonly [what: string, html: string, words: readonly string[]]>([
    ["paragraphs without ends", "<p>A.<p>B.", ["A.", "B."]],
    ["lines", "<p>A,<br>b.</p>", ["A,/b."]],
    ["rules", "<p>A.</p><hr><p>B.</p>", ["A.", "[rule]", "B."]],
    ["lists", "<ol start=3><li>A<li>B</ol><ul><li>C</ul>", ["3. A", "4. B", "C"]],
    ["tables", "<table><tr><th>Day<th>Sky<tr><td>One<td>Grey</table>", ["Day: One, Sky: Grey"]],
    [
      "plays in tables, with labels and directions",
      '<table><tr><td epub:type="z3998:persona">Jack</td><td><i epub:type="z3998:stage-direction">Airily.</i> Oh!</td></tr><tr><td epub:type="z3998:persona">Lane</td><td><p>Yes.</p><p>And no.</p></td></tr><tr><td></td><td epub:type="z3998:stage-direction">Lane goes out.</td></tr></table>',
      ["Jack: [Airily.] Oh!", "Lane: Yes.", "And no.", "[Lane goes out.]"],
    ],
    ["cells that end one", "<table><tr><td>Tha.<td>Yes, it is.<td>Ja</table>", ["Tha. Yes, it is. Ja"]],
    ["tables whose first cells are not speakers", "<table><tr><td>Jack<td>Yes</table>", ["Jack, Yes"]],
    ["quotes", "<blockquote><p>A.</p></blockquote>", ["A."]],
    [
      "poems",
      "<pre>The sea is calm tonight,\nThe tide is full.</pre>",
      ["The sea is calm tonight,/The tide is full."],
    ],
    [
      "powers",
      "<p>It is 2<sup>10</sup> and that is a lot of the bytes that there are in it.</p>",
      ["It is 2 to the power of 10 and that is a lot of the bytes that there are in it."],
    ],
    ["initials in a block of their own", "<div><img alt='W'></div><p>HEN it rains.</p>", ["WHEN it rains."]],
    ["initials with words", "<p><img alt='Decorative drop cap W'>hen.</p>", ["When."]],
    ["an initial", "<div><img alt='Initial “T”'></div><h2>One</h2><p>HE end.</p>", ["## One", "THE end."]],
    [
      "initials beside the whole word",
      "<div><img alt='T (ornamental initial)'></div><p>The end.</p>",
      ["The end."],
    ],
    ["letters that are words", "<div><img alt='A'></div><p>Ferry left.</p>", ["A Ferry left."]],
    [
      "pictures that are no initials",
      "<p><img alt='A letter from home'> and <img alt='Vitamin A'>.</p>",
      ["A letter from home and Vitamin A ."],
    ],
    ["pieces of React", "<div hidden id='S:a'><p>A.</p></div><div hidden id='menu'><p>B.</p></div>", ["A."]],
    [
      "titles of tables that are in no row",
      "<table><thead><th></th><th>Sky</th></thead><tbody><tr><td>One</td><td>Grey</td></tr></table>",
      ["One, Sky: Grey"],
    ],
    ["lowered words, a number", "<p>In 2021<sub>5ya</sub> and x<sub>1</sub>.</p>", ["In 2021 5ya and x1."]],
    [
      "a text file that a browser saved, as plain text",
      "<html><head></head><body><pre>THE LOCK\n\nIt rained all night, and the river\nrose by a yard.\n\n* and nobody slept in the house, not even the keeper\n\nAda Writer [Page 1]\n\nIn the morning the gate was gone,\nand so was the ferry.\n\nAda Writer [Page 2]\n</pre></body></html>",
      [
        "THE LOCK",
        "It rained all night, and the river rose by a yard.",
        "* and nobody slept in the house, not even the keeper",
        "In the morning the gate was gone, and so was the ferry.",
      ],
    ],
    ["characters by name", "<p>A&nbsp;&ndash;&#x42;</p>", ["A –B"]],
    ["first letters that stand alone", "<p><span>T</span>he end.</p>", ["The end."]],
  ])("speaks %s", (_, html, words) => {
    expect(spokenTextOf(html).words).toEqual(words);
  });

  it("is refused for a damaged character in spoken text alone", () => {
    const planOf = (html: string) =>
      planBlocks((unspoken) => parseHtml(html, unspoken), { speed: 1, pauseSeconds: 0.6 }).parts;
    expect(planOf("<script>'\ufffd'</script><nav>\ufffd</nav><p>A.</p>")).toMatchObject([{ text: "A." }]);
    expect(() => planOf("<p>A \ufffd.</p>")).toThrow(/U\+FFFD/);
  });

  it("is refused where elements are nested without end", () => {
    expect(spokenTextOf(`${"<div>".repeat(1000)}<p>A.`).words).toEqual(["A."]);
    expect(() => spokenTextOf(`${"<div>".repeat(1_000_000)}<p>A.`)).toThrow(/10000 elements open/);
  });

  it.each([
    ["line breaks", "<br>"],
    ["line separators", "\u2028"],
    ["blanks", " \u3000"],
  ])("is read quickly if it is full of %s", (_, unit) => {
    const startCpuUsage = process.cpuUsage();
    spokenTextOf(`<p>The river ran.${unit.repeat(60_000)}It ended here.</p>`);
    const { user, system } = process.cpuUsage(startCpuUsage);
    expect((user + system) / 1000).toBeLessThan(4_000);
  });
});
