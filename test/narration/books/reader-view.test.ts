/** Pages that declare themselves articles: the reader view chooses among their blocks. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findDeclaredArticle, parseHtml } from "../../../src/narration/books/parse-html.ts";
import { getBlockText, UnspokenList } from "../../../src/narration/text/blocks.ts";

const OG_TYPE = '<meta content="article" property="og:type">';
const JSON_LD =
  '<script type="application/ld+json">{"@context":"https://schema.org","@type":"NewsArticle","headline":"The Lock","author":{"@type":"Person","name":"Ada Writer"}}</script>';
const TEXT = [
  "The lock closed on Monday after ninety years, and the keeper locked the gate himself, with his father’s key.",
  "It had leaked from the first day, said the keeper, who has lived beside the river, in the small house, for years.",
  "Nobody knows, said the mayor, whether the county will ever find the money for another gate, a new one or an old.",
];
const COMMENTS = "<div class='comments'><p>First! I liked the old gate.</p></div>";
const page = (head: string, article = TEXT.map((text) => `<p>${text}</p>`).join("")): string =>
  `<html><head><title>The Lock - News</title>${head}</head><body><div class="menu"><a href="/">Home</a></div><h1>The Lock</h1><div>${article}</div>${COMMENTS}</body></html>`;

async function read(html: string) {
  const unspoken = new UnspokenList();
  const { blocks, title, author } = parseHtml(html, unspoken, await findDeclaredArticle(html));
  const unspokenRows = unspoken.rows().map(({ kind, count }) => `${kind} ${count}`);
  return { words: blocks.map(getBlockText), title, author, unspokenRows };
}

describe("a page that declares itself an article", () => {
  it.each([
    ["og:type", OG_TYPE],
    ["JSON-LD", JSON_LD],
    ["schema.org", "<meta itemscope itemtype='http://schema.org/BlogPosting'>"],
  ])("is spoken without its frame: %s", async (_, head) => {
    expect(await read(page(head))).toMatchObject({
      words: ["The Lock", ...TEXT],
      title: expect.stringMatching(/^The Lock/),
      unspokenRows: ["navigation 2"],
    });
  });

  it("gets title and author from the article", async () => {
    expect(await read(page(JSON_LD))).toMatchObject({ title: "The Lock", author: "Ada Writer" });
  });

  it("keeps the blocks of the page: readings, marks of notes, lines of verse", async () => {
    const article = `${TEXT.map((text) => `<p>${text}<a role="doc-noteref" href="#n">1</a></p>`).join("")}<p><ruby>漢字<rt>かんじ</rt></ruby>,<br>so they say, and it may well be true.</p>`;
    const { words, unspokenRows } = await read(page(OG_TYPE, article));
    expect(words.slice(1)).toEqual([...TEXT, "漢字,\u2028so they say, and it may well be true."]);
    expect(unspokenRows).toContain("reference 3");
  });

  it.each(["Monday, 3 March 2025", "Follow Ada", "Ada Writer2nd Sep 2022"])(
    "takes no author from %s",
    async (words) => {
      const article = `<p class="byline">${words}</p>${TEXT.map((text) => `<p>${text}</p>`).join("")}`;
      expect((await read(page(OG_TYPE, article))).author).toBeNull();
    },
  );

  it("has no heading whose text belongs to the site", async () => {
    const article = `<h2>Why</h2>${TEXT.map((text) => `<p>${text}</p>`).join("")}<h2>Sources</h2><div class="share sidebar comment footer"><ul><li><a href="/a">Log in</a></li></ul></div>`;
    const { words, unspokenRows } = await read(page(OG_TYPE, article));
    expect(words).toEqual(["The Lock", "Why", ...TEXT]);
    expect(unspokenRows).toEqual(["navigation 4"]);
  });

  it("keeps its heading if it has nothing else", async () => {
    const html = `<html><head><title>The Lock</title>${JSON_LD}</head><body><h1>The Lock</h1><div class="menu">Home</div></body></html>`;
    expect((await read(html)).words).toContain("The Lock");
  });

  it("loses no entry if it is a table of contents", async () => {
    const entries = Array.from({ length: 30 }, (_, n) => `The lock number ${n} of the river`);
    const list = entries.map((entry, n) => `<li><a href="/p/${n}">${entry}</a></li>`).join("");
    expect((await read(page(OG_TYPE, `<ul>${list}</ul>`))).words).toEqual(expect.arrayContaining(entries));
  });

  it.each([
    ["is a little too large", page(OG_TYPE) + " ".repeat(2 * 1024 * 1024)],
    ["is nested deeply", page(OG_TYPE, `${"<div>".repeat(2000)}${TEXT[0]}`)],
    ["holds nothing that the reader view finds", `${OG_TYPE}<p>A.`],
  ])("is read without the reader view if it %s", async (_, html) => {
    const { words } = await read(html);
    expect(words.join()).toMatch(/old gate|A\./);
  });

  it.each([
    "<div><p>a, b</p>",
    "<br><br>a",
    "<table><tr><td>a, b",
    "<ul><li><a href=x>a</a>",
    "<p class='comment'>a",
  ])("is read in bounded time: 2 MiB of %s", async (form) => {
    const html = page(OG_TYPE, form.repeat((2 * 1024 * 1024 - 5000) / form.length));
    const begin = performance.now();
    await findDeclaredArticle(html);
    expect(performance.now() - begin).toBeLessThan(10_000);
  });
});

it.each([
  ["declares nothing", ""],
  ["is another kind of thing", OG_TYPE.replace("article", "website")],
  ["mentions an article", "<meta name=description content='article'>"],
])("a page that %s is spoken whole", async (_, head) => {
  expect((await read(page(head))).words).toContain("First! I liked the old gate.");
});

it("only pages load the reader view, which is a file of its own", () => {
  const chunks = join(import.meta.dirname, "../../../dist/chunks");
  const files = readdirSync(chunks).map((name) => [name, readFileSync(join(chunks, name), "utf8")] as const);
  const reader = files.filter(([, code]) => code.includes("application/ld+json")).map(([name]) => name);
  expect(reader).toEqual([expect.stringMatching(/^reader-view/)]);
  const importers = files.filter(([, code]) => code.includes("reader-view-")).map(([name]) => name);
  expect(importers).toEqual([expect.stringMatching(/^parse-html/)]);
});
