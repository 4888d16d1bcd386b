/** The spoken text of each kind of Markdown markup, and the time to plan Markdown that is slow to parse. */
import { describe, expect, it } from "vitest";
import { planText } from "../../../src/narration/text/plan-text.ts";
import type { NarrationPlan, PlanRequest } from "../../../src/narration/text/plan-types.ts";

const plan = (text: string, more: Partial<PlanRequest> = {}): NarrationPlan =>
  planText({ text, format: "markdown", speed: 1, pauseSeconds: 0.6, ...more });

const paragraphs = (text: string): string[] => plan(text).parts.flatMap((part) => part.text.split("\n\n"));

const CASES: ReadonlyArray<readonly [what: string, markdown: string, heard: readonly string[]]> = [
  [
    "emphasis and links",
    "It is *very* **bold**, ~~old~~ and [linked](https://a.b/c).",
    ["It is very bold, old and linked."],
  ],
  [
    "emphasis beside Chinese marks",
    "他说**“你好。”**然后走了。\n\nIt is 2**3.",
    ["他说“你好。”然后走了。", "It is 2**3."],
  ],
  [
    "soft line breaks",
    "One line\nand the next.\n\n第一行，\n第二行\n中文",
    ["One line and the next.", "第一行，第二行中文"],
  ],
  ["hard line breaks", "Roses  \nare\\\nred<br>indeed.", ["Roses\nare\nred\nindeed."]],
  ["a list, by item", "- one\n- two\n  - three\n\n    more\n* four", ["one", "two", "three", "more", "four"]],
  [
    "the numbers of a list, as written",
    "3. three\n4. four\n\nThen.\n\n1984. It was cold.",
    ["3. three", "4. four", "Then.", "1984. It was cold."],
  ],
  ["the boxes of tasks", "- [ ] open\n- [x] *done*", ["open", "done"]],
  [
    "a table",
    "| Name | Age | |\n|---|---|---|\n| Ann | 3 | x |\n| Bob | | |",
    ["Name: Ann, Age: 3, x", "Name: Bob"],
  ],
  ["a table without rows", "| Name | Age |\n|---|---|", ["Name, Age"]],
  ["a quotation", "> One.\n>\n> Two.", ["One.", "Two."]],
  ["an alert", "> [!WARNING]\n> Hot.", ["Warning: Hot."]],
  [
    "bare addresses as their hosts",
    "See https://www.example.com/a?b=c, <https://b.org:8080/x> or www.c.net/d. Not me@x.org.",
    ["See example.com, b.org or c.net. Not me@x.org."],
  ],
  ["a link whose text is its address", "[https://a.com/b](https://a.com/b)", ["a.com"]],
  [
    "character references",
    "&copy; 2026 AT&amp;T &mdash; &#233;t&#xe9;&nbsp;&lt;b&gt; &unknown; &#38;copy; &#0;&#xFFFD;&#8;",
    ["© 2026 AT&T — été <b> &unknown; &copy;"],
  ],
  ["escapes, which are not references", "\\&copy; \\*x\\* `&copy;`", ["&copy; *x* &copy;"]],
  ["images by their words", "![A *red* fox](fox.png) runs.", ["A red fox runs."]],
  ["inline code and tags", "Press <kbd>Enter</kbd>, then `npm run x`.", ["Press Enter, then npm run x."]],
  ["footnotes' marks not at all", "True.[^1] Also[^note] this.", ["True. Also this."]],
  ["a heading without its attributes", "# Title {#title .big}\n\nText.", ["Title", "Text."]],
  [
    "a poem that is indented",
    "Said:\n\n    How doth the little crocodile\n    Improve his shining tail",
    ["Said:", "How doth the little crocodile\nImprove his shining tail"],
  ],
  ["comments not at all", "One.<!-- two -->\n\n<!-- three\n\nfour -->\n\nFive.", ["One.", "Five."]],
  ["definitions of links not", "[a] and [b].\n\n[a]: https://x.y\n[b]: https://x.z 'Title'", ["a and b."]],
  [
    "two rules around a text, which are not front matter",
    "---\nJust text here.\n\n---\n\nMore.",
    ["Just text here.", "More."],
  ],
];

describe("Markdown", () => {
  it.each(CASES)("is spoken: %s", (_, markdown, spokenText) => {
    expect(paragraphs(markdown)).toEqual(spokenText);
  });

  it.each([
    [
      "front matter",
      "---\ntitle: A\ntags: [x]\n---\nText.",
      { kind: "front_matter", count: 1, excerpt: "title: A tags: [x]" },
    ],
    ["TOML", "+++\ntitle = 'A'\n+++\nText.", { kind: "front_matter", count: 1, excerpt: "title = 'A'" }],
    ["code", "Text.\n\n```js\nlet a;\n```\n\n    $ npm i\n", { kind: "code", count: 2, excerpt: "let a;" }],
    [
      "HTML",
      "Text.\n\n<div class=x>Some <b>words</b></div>\n",
      { kind: "html", count: 1, excerpt: "Some words" },
    ],
    [
      "a comment that is not closed",
      "Text.\n\n<!-- All the rest.\n\nOf it.",
      { kind: "html", count: 1, excerpt: "All the rest. Of it." },
    ],
    ["a script", "Text.\n\n<script>\nalert(1)\n</script>\n", { kind: "html", count: 1, excerpt: "alert(1)" }],
    [
      "footnotes",
      "Text.[^1]\n\n[^1]: A note\n    of two lines.\n[^2]: Another.\n",
      { kind: "footnote", count: 2, excerpt: "[^1]: A note of two lines." },
    ],
    ["images without words", "Text. ![](a/b.png)", { kind: "image", count: 1, excerpt: "a/b.png" }],
    ["what holds no words", "Text.\n\n🎉 🎉\n\n…\n", { kind: "no_words", count: 2, excerpt: "🎉 🎉" }],
  ])("reports omitted text: %s", (_, markdown, row) => {
    const { parts, unspoken } = plan(markdown);
    expect(parts.map(({ text }) => text)).toEqual(["Text."]);
    expect(unspoken).toEqual([row]);
  });

  it("omits bare tags without a report, because listeners miss nothing", () => {
    const { parts, unspoken } = plan("<div align=center>\n\nText.\n\n</div>\n\n<a name=x></a>\n");
    expect(parts.map(({ text }) => text)).toEqual(["Text."]);
    expect(unspoken).toEqual([]);
  });

  it("has pauses at rules and at blocks without words, and longer ones before headings, unless longer ones are requested", () => {
    const text = "One.\n\n---\n\nTwo.\n\n🎉\n\nThree.\n\n---\n\n# Four\n\n---\n\n";
    const pauses = (pauseSeconds: number) =>
      plan(text, { pauseSeconds }).parts.map((part) => part.pauseAfterSeconds);
    expect(pauses(0.6)).toEqual([1.5, 1.5, 2, 0]);
    expect(pauses(1.8)).toEqual([1.8, 1.8, 2, 0]);
    expect(pauses(4)).toEqual([4, 4, 4, 0]);
  });

  it("begins a chapter at each heading, except directly below a higher one", () => {
    const { chapters, parts } = plan(
      "Before.\n\n# Part One\n## Chapter *1*\n\nText.\n\nChapter 2\n---\n\n### Sub\n\n# 🎉\n\nMore.",
    );
    expect(chapters).toEqual([
      { title: null, level: null },
      { title: "Part One: Chapter 1", level: 1 },
      { title: "Chapter 2: Sub", level: 2 },
    ]);
    expect(parts.map(({ chapterIndex, text }) => [chapterIndex, text])).toEqual([
      [0, "Before."],
      [1, "Part One\n\nChapter 1\n\nText."],
      [2, "Chapter 2\n\nSub"],
      [2, "More."],
    ]);
  });

  it.each<readonly [what: string, markdown: string, titles: readonly string[]]>([
    [
      "at the same level",
      "# Chapter 1\n# The Gate\n\nA.\n\n# Chapter 2\n# The Barge\n\nB.",
      ["Chapter 1: The Gate", "Chapter 2: The Barge"],
    ],
    ["with the title higher", "### II.\n\n## The Barge\n\nB.", ["II. The Barge"]],
    ["in Japanese", "## 第二章\n\n## 水門\n\nB.", ["第二章: 水門"]],
    ["but not with the next number", "# Chapter 1\n# Chapter 2\n\nA.", ["Chapter 1", "Chapter 2"]],
    ["but not titles", "# Chapter 1: The Gate\n# The Barge\n\nA.", ["Chapter 1: The Gate", "The Barge"]],
    ["but not a name", "# Mira\n# The Barge\n\nA.", ["Mira", "The Barge"]],
    ["but not behind text", "# Chapter 1\n\nA.\n\n# The Barge\n\nB.", ["Chapter 1", "The Barge"]],
  ])("joins a heading that is only a number with the next heading, %s", (_, markdown, titles) => {
    expect(plan(markdown).chapters.map(({ title }) => title)).toEqual(titles);
  });

  it("finds chapters of plain text if there is no heading", () => {
    const { chapters } = plan("CHAPTER I.\nDown\n\nText.\n\nCHAPTER II.\n\nMore.");
    expect(chapters.map(({ title }) => title)).toEqual(["CHAPTER I. Down", "CHAPTER II."]);
  });

  it("finds the speakers of lines in paragraphs, lists and bold labels", () => {
    const voices = { anna: "felix_zh", Ben: "kian_en_zh" } as const;
    const { parts } = plan("**Anna:** One.\n**BEN**: Two.\n\n- ANNA: Three.\n\nBen：\n\nFour.\n\nNarrated.", {
      speakers: voices,
    });
    expect(parts.map(({ voice, text }) => [voice, text])).toEqual([
      ["felix_zh", "One."],
      ["kian_en_zh", "Two."],
      ["felix_zh", "Three."],
      ["kian_en_zh", "Four."],
      [undefined, "Narrated."],
    ]);
  });
});

it.each([
  ["open brackets", "[".repeat(100_000)],
  ["open images", "![".repeat(50_000)],
  ["open links", "[a](".repeat(50_000)],
  ["underscores", "_a".repeat(100_000)],
  ["asterisks", "**a *".repeat(60_000)],
  ["open comments", "<!-- a ".repeat(60_000)],
  ["open tags", "<a".repeat(100_000)],
  ["quotations inside each other", ">".repeat(100_000)],
  ["deep lists", Array.from({ length: 2_000 }, (_, depth) => `${" ".repeat(2 * depth)}- a`).join("\n")],
  ["lists on one line", "- 1. ".repeat(10_000)],
  ["footnotes", "[^a]: b\n".repeat(50_000)],
  ["open definitions", "[a]: <".repeat(20_000)],
  ["backticks", "`a``".repeat(50_000)],
  ["a large table", `|a|b|\n|-|-|\n${"|1|2|\n".repeat(50_000)}`],
  ["front matter that never ends", `---\na: b\n${"c\n".repeat(100_000)}`],
])("Markdown that is slow to parse is planned quickly: %s", (_, markdown) => {
  const startCpuUsage = process.cpuUsage();
  plan(`The beginning.\n\n${markdown}`);
  const { user, system } = process.cpuUsage(startCpuUsage);
  expect((user + system) / 1000).toBeLessThan(4_000);
});
