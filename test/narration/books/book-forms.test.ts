/** Chapters, notes, contents, indexes and title pages of books that name them by no type, and what resembles them. */
import { describe, expect, it } from "vitest";
import { parseEpub } from "../../../src/narration/books/parse-epub.ts";
import { getBlockText, UnspokenList } from "../../../src/narration/text/blocks.ts";
import { type PackedBook, packBook } from "./packed-book.ts";

const PROSE = "The rain had stopped before dawn, and nobody in the house had slept, and nobody said so.";

function read(book: PackedBook) {
  const unspoken = new UnspokenList();
  const { blocks } = parseEpub(packBook(book), unspoken);
  const words = blocks.flatMap((block) => {
    const text = getBlockText(block);
    return text === "" ? [] : [block.kind === "heading" ? `${"#".repeat(block.level)} ${text}` : text];
  });
  return { words, unspokenRows: unspoken.rows().map(({ kind, count }) => `${kind} ${count}`) };
}

const page = (body: string): PackedBook => ({ pages: [{ id: "one", body }] });

/** A book of one page, with a table of contents of the given entries. */
const withContents = (
  body: string,
  entries: ReadonlyArray<readonly [label: string, href: string]>,
): PackedBook => ({
  pages: [{ id: "one", body }],
  files: {
    "OPS/toc.ncx": `<ncx><navMap>${entries.map(([label, href]) => `<navPoint><navLabel><text>${label}</text></navLabel><content src="${href}"/></navPoint>`).join("")}</navMap><pageList><pageTarget><navLabel><text>12</text></navLabel><content src="one.xhtml#p12"/></pageTarget></pageList></ncx>`,
    "OPS/book.opf": `<package><metadata/><manifest><item id="one" href="one.xhtml" media-type="application/xhtml+xml"/><item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/></manifest><spine toc="ncx"><itemref idref="one"/></spine></package>`,
  },
});

it.each<readonly [what: string, body: string, words: readonly string[]]>([
  [
    "are found on a page that has a heading",
    `<h1>Book</h1><p id="a">Mimer</p><p>${PROSE}</p><div id="b"><p>${PROSE}</p></div>`,
    ["# Book", "# Mimer", PROSE, "# Greyfell", PROSE],
  ],
  [
    "are not found twice if a heading stands at the place, behind a number, or before it",
    `<h1>Book</h1><a id="a"></a><h2>Mimer</h2><p>${PROSE}</p><div id="b"><p>II</p><h2>The Greyfell</h2></div><p>${PROSE}<a id="p12"/></p>`,
    ["# Book", "## Mimer", PROSE, "II", "## The Greyfell", PROSE],
  ],
  [
    "are found if only the next chapter has a heading",
    `<h1>Book</h1><p id="a">Mimer</p><h2 id="b">Greyfell</h2><p>${PROSE}</p>`,
    ["# Book", "# Mimer", "## Greyfell", PROSE],
  ],
])("chapters that the contents name by places %s", (_, body, words) => {
  const entries = [
    ["Mimer", "one.xhtml#a"],
    ["Greyfell", "one.xhtml#b"],
  ] as const;
  expect(read(withContents(body, entries))).toEqual({ words, unspokenRows: [] });
});

it("chapters that the contents name by places are named in the plan if they have no place in the text", () => {
  const entries = [
    ["Mimer", "one.xhtml#gone"],
    ["Greyfell", "two.xhtml"],
    ["Book", "one.xhtml"],
  ] as const;
  expect(read(withContents(`<h1>Book</h1><p>${PROSE}</p>`, entries)).unspokenRows).toEqual(["lost_entry 2"]);
});

describe("notes without types", () => {
  const mark = (n: number, file = ""): string => `<a id="r${n}" href="${file}#n${n}">${n}</a>`;
  it.each<readonly [what: string, text: string, notes: string]>([
    [
      "paragraphs",
      `<p>One.<sup>${mark(1)}</sup></p>`,
      `<h3>Notes</h3><p id="n1"><a href="#r1">1</a>. Ledger.</p>`,
    ],
    ["places in paragraphs", `<p>One.[${mark(1)}]</p>`, `<hr/><p><a id="n1" href="#r1">[1]</a> Ledger.</p>`],
    [
      "lists with an arrow",
      `<p>One.${mark(1)}</p>`,
      `<ol><li id="n1"><p>Ledger.</p><p>Page 9. <a href="#r1">↩</a></p></li></ol>`,
    ],
    [
      "places of marks on a word",
      `<p><span id="r1">One.</span><a href="#n1">b</a></p>`,
      `<div class="footnote"><p id="n1"><a href="#r1">b</a> Ledger.</p><p>Page 9.</p></div>`,
    ],
    [
      "figures of another script",
      `<p>One.<a id="r1" href="#n1">［１］</a></p>`,
      `<p id="n1"><a href="#r1">［１］</a> Ledger.</p>`,
    ],
    [
      "a note with two marks, whose links back are letters",
      `<p>One.<a id="r1" href="#n1">[1]</a></p>`,
      `<ol><li id="n1"><a href="#r1">a</a> <a href="#r1">b</a> Ledger.</li></ol>`,
    ],
    [
      "several marks",
      `<p>One.${mark(1)}</p>`,
      `<table><tr><td><a id="n1" href="#r1">1</a></td><td>Ledger.</td></tr></table>`,
    ],
  ])("are not spoken: %s", (_, text, notes) => {
    const { words, unspokenRows } = read(page(`<h2>I</h2>${text}<p>${PROSE}</p>${notes}`));
    expect(words).toEqual(["## I", "One.", PROSE]);
    expect(unspokenRows).toEqual(["reference 1", "footnote 1"]);
  });

  it("are found on a page of their own, which has nothing else", () => {
    const pages = [
      { id: "one", body: `<p>One.${mark(1, "two.xhtml")} Two.<a href="two.xhtml#n1">1</a></p>` },
      { id: "two", body: `<h1>Notes</h1><h2>I</h2><p id="n1"><a href="one.xhtml#r1">1</a> Ledger.</p>` },
    ];
    expect(read({ pages })).toEqual({ words: ["One. Two."], unspokenRows: ["reference 2", "footnote 1"] });
  });

  it("are found without links back if several numbers directly behind words lead to them", () => {
    const oneWay = [1, 2, 3]
      .map((n) => `<p>Word.<span><a href="#n${n}">${n}</a></span> ${PROSE}</p>`)
      .join("");
    const notes = [1, 2, 3].map((n) => `<p id="n${n}">${n}. Ledger.</p>`).join("");
    const list = `<ol>${[1, 2, 3].map((n) => `<li id="n${n}">Ledger.</li>`).join("")}</ol>`;
    for (const form of [notes, list]) {
      expect(read(page(`${oneWay}<h3>Notes</h3>${form}`))).toEqual({
        words: Array(3).fill(`Word. ${PROSE}`),
        unspokenRows: ["reference 3", "footnote 3"],
      });
    }
    // Paragraphs that a text refers to are no notes.
    const rules = [1, 2, 3].map((n) => `<p>See rule <a href="#n${n}">${n}</a>. ${PROSE}</p>`).join("");
    expect(read(page(rules + notes)).unspokenRows).toEqual([]);
  });

  it.each<readonly [what: string, body: string, words: readonly string[]]>([
    ["a note linked once", `<p>One <a href="#n1">1</a></p><p id="n1">Ledger.</p>`, ["One 1", "Ledger."]],
    [
      "contents that chapters link back to",
      `<p id="t1">Chapter <a href="#c1">1</a></p><div><h2 id="c1"><a href="#t1">1</a></h2><p>${PROSE}</p></div>`,
      ["Chapter 1", "## 1", PROSE],
    ],
    [
      "words that link to each other",
      `<p id="a">See <a href="#b">the gate</a>.</p><p id="b">A gate (<a href="#a">the lock</a>).</p>`,
      ["See the gate.", "A gate (the lock)."],
    ],
    [
      "steps that refer to each other by number",
      `<p id="a">See step <a href="#b">2</a>.</p><p id="b">As in step <a href="#a">1</a>.</p>`,
      ["See step 2.", "As in step 1."],
    ],
  ])("are not %s", (_, body, words) => {
    expect(read(page(body))).toEqual({ words, unspokenRows: [] });
  });
});

it.each<readonly [what: string, body: string]>([
  ["a title page", `<div id="title-page"><h1>The Lock</h1><h3>Ada Writer</h3></div>`],
  ["an imprint", `<div id="copyright-page"><p>All rights reserved.</p></div>`],
  [
    "an index without links",
    `<h1>Index</h1><p><a id="A">A</a><br/>Abutment, 7, 118<br/>Arches, of brick, ${"12, ".repeat(40)}60–62<br/>– wooden, 9</p>`,
  ],
])("pages that only an id or their form names are not spoken: %s", (_, body) => {
  const pages = [
    { id: "one", body },
    { id: "two", body: `<p>${PROSE}</p>` },
  ];
  expect(read({ pages })).toEqual({ words: [PROSE], unspokenRows: ["book_matter 1"] });
});

it("pages that only an id or their form names are spoken if they are text", () => {
  const body = `<h1>Index</h1><p>${PROSE}</p><p>It was 1914.</p><p>${PROSE}</p>`;
  expect(read(page(body)).words).toEqual(["# Index", PROSE, "It was 1914.", PROSE]);
});

describe("contents and indexes without types", () => {
  const entries = (form: (n: number) => string, count = 6): string =>
    Array.from({ length: count }, (_, n) => form(n + 1)).join("");
  const places = entries((n) => `<p id="c${n}">${PROSE}</p>`);
  it.each<readonly [what: string, list: string]>([
    ["numbers outside of links", entries((n) => `<p>${n}.${n} <a href="#c${n}">The gate</a></p>`)],
    ["pages outside of links", entries((n) => `<p><a href="#c${n}">The gate</a> ..... ${10 * n}</p>`, 3)],
    [
      "a table with a row of titles",
      `<table>${"<tr><td>CHAPTER</td><td></td><td>PAGE</td></tr>"}${entries((n) => `<tr><td>${"I".repeat(n)}.</td><td><a href="#c${n}">Gate</a></td><td>${n}</td></tr>`, 3)}</table>`,
    ],
    [
      "linked numbers before their titles",
      `<table>${entries((n) => `<tr><td><a href="#c${n}">CHAPTER ${"I".repeat(n)}.</a></td><td>The Gate</td></tr>`, 3)}</table>`,
    ],
    [
      "lines between the entries",
      `<p>PART ONE</p>${entries((n) => `<p><a href="#c${n}">Gate</a></p>`, 3)}<p>PART TWO</p>${entries((n) => `<p><a href="#c${n}">Gate</a></p>`, 3)}`,
    ],
    [
      "an index",
      `<h3>G</h3>${entries((n) => `<p>Gate, wooden, <a href="#c${n}">${n}</a>, <a href="#c1">${n}–9</a></p>`)}`,
    ],
  ])("are not spoken, with their heading: %s", (_, list) => {
    const { words, unspokenRows } = read(
      page(`<h1>Book</h1><p>${PROSE}</p><h2>List</h2>${list}<h2>I</h2>${places}`),
    );
    expect(words.slice(0, 4)).toEqual(["# Book", PROSE, "## I", PROSE]);
    expect(unspokenRows).toEqual(["book_matter 1"]);
  });

  it.each<readonly [what: string, list: string]>([
    ["choices of a game", entries((n) => `<p>If you go, turn to <a href="#c${n}">${n}</a>.</p>`)],
    ["sentences that end in a mark", entries((n) => `<p>It leaked in May.<a href="#c${n}">${n}</a></p>`)],
    ["prices", entries((n) => `<p>Gate, wooden, ${n}</p>`)],
    ["links to other sites", entries((n) => `<p><a href="https://a.example/${n}">Gate ${n}</a></p>`)],
    ["what chapters tell of", entries((n) => `<p><a href="#c${n}">Chapter ${n}</a> tells of the gate</p>`)],
    ["a few links", entries((n) => `<p><a href="#c${n}">Gate</a></p>`, 3)],
  ])("are not %s", (_, list) => {
    expect(read(page(`<h2>List</h2>${list}${places}`)).unspokenRows).toEqual([]);
  });
});

describe("pages by their types", () => {
  it.each(["halftitlepage", "titlepage", "imprint", "copyright-page", "colophon"])("omits a %s", (type) => {
    const pages = [
      { id: "one", body: `<section epub:type="${type}"><h1>Book</h1><p>By me.</p></section>` },
      { id: "two", body: `<p>${PROSE}</p>` },
    ];
    expect(read({ pages })).toEqual({ words: [PROSE], unspokenRows: ["book_matter 1"] });
  });

  it.each(["Colophon", "Copyright", "TITLE PAGE", "Half-title"])("omits a page called %s", (title) => {
    const body = `<h1>${title}</h1><p>By me.</p>`;
    const pages = [
      { id: "one", body },
      { id: "two", body: `<p>${PROSE}</p>` },
    ];
    expect(read({ pages })).toEqual({ words: [PROSE], unspokenRows: ["book_matter 1"] });
  });

  it.each([
    ["another title", `<h1>Copyright Wars</h1><p>For Ana.</p>`],
    ["prose", `<h1>Imprint</h1>${`<p>${PROSE}</p>`.repeat(20)}`],
  ])("speaks a page with %s", (_, body) => {
    expect(read(page(body)).unspokenRows).toEqual([]);
  });

  it.each(["dedication", "epigraph", "foreword"])("speaks a %s", (type) => {
    expect(read(page(`<section epub:type="${type}"><p>For Ana.</p></section>`)).words).toEqual(["For Ana."]);
  });

  it("omits pages that the guide or the landmarks name, unless they hold prose", () => {
    const toc = `<nav epub:type="landmarks"><ol><li><a epub:type="titlepage" href="two.xhtml">T</a></li><li><a epub:type="titlepage" href="four.xhtml">T</a></li></ol></nav>`;
    const pages = [
      { id: "one", body: "<p>Copyright.</p>" },
      { id: "two", body: "<p>Book.</p>" },
      { id: "three", body: "<p>For Ana.</p>" },
      { id: "four", body: `<p>${PROSE}</p>`.repeat(20) },
      { id: "nav", body: toc, properties: "nav" },
    ];
    const more =
      '<guide><reference type="copyright-page" href="one.xhtml"/><reference type="dedication" href="three.xhtml"/></guide>';
    const { words, unspokenRows } = read({ pages, more });
    expect(words.slice(0, 2)).toEqual(["For Ana.", PROSE]);
    expect(unspokenRows).toContain("book_matter 3");
  });
});
