/**
 * Markup of other tools in Markdown, and texts that are called Markdown but are not: nothing is changed or left out
 * without a report.
 */
import { describe, expect, it } from "vitest";
import { planText } from "../../../src/narration/text/plan-text.ts";
import type { NarrationPlan } from "../../../src/narration/text/plan-types.ts";

const plan = (text: string): NarrationPlan =>
  planText({ text, format: "markdown", speed: 1, pauseSeconds: 0.6 });
const spokenTextOf = (text: string): string =>
  plan(text)
    .parts.map((part) => part.text)
    .join("\n\n");

const EN = "# The and of that\n\n";

describe("markup of other tools", () => {
  it.each([
    ["roles of MyST", `${EN}A {term}\`lock <locks>\` and {kbd}\`Esc\`.`, "A lock and Esc."],
    ["labels and comments of MyST", `${EN}One.\n\n(gate)=\n\n% Not yet.\n% Later.\n\nTwo.`, "One.\n\nTwo."],
    [
      "directives of MyST with options and files",
      `${EN}:::{tip} Oil\n:class: dropdown\nNow.\n:::\n\n:::{figure} images/gate.svg\nThe gate.\n:::\n\n:::{note} Use \`oil\`.\n:::`,
      "Oil\n\nNow.\n\nThe gate.\n\nUse oil.",
    ],
    ["references of bookdown", `${EN}As in Chapter \\@ref(gate:one).`, "As in Chapter."],
    ["long quoted attributes", `${EN}![](gate.svg){alt='A "gate" {small}' width="40%"}\n\nOne.`, "One."],
    ["headings without a blank", `${EN}#Where do we go?\n\nOn [it](x).`, "Where do we go?\n\nOn it."],
    [
      "tables in a grid",
      `${EN}+-----+------+\n| Day | Sky  |\n+=====+======+\n| One | \`\`\`  |\n+-----+------+\n\nTwo.`,
      "Day, Sky\nOne\n\nTwo.",
    ],
    [
      "code of Hugo and Jekyll",
      `${EN}One.\n\n{{< highlight go >}}\nlet a = 1\n{{< /highlight >}}\n\n{% highlight ruby %}\nputs 1\n{% endhighlight %}\n\nTwo.`,
      "One.\n\nTwo.",
    ],
    ["a power, in English", `${EN}It was 2<sup>10</sup> of them.`, "It was 2 to the power of 10 of them."],
    ["a raised letter", `${EN}It is E = mc<sup>2</sup> of them.`, "It is E = mc to the power of 2 of them."],
    ["the mark of a note behind a word", `${EN}It was so<sup>2</sup> with them.`, "It was so with them."],
    [
      "a power, in Spanish",
      "# El número\n\nLa tabla del 2<sup>10</sup> es muy larga pero una más.",
      "La tabla del 2 elevado a 10 es muy larga pero una más.",
    ],
    ["a power, in Chinese", "# 数\n\n一共有2<sup>10</sup>个。", "一共有2的10次方个。"],
    ["a power in an unknown language", "# Liczba\n\nWynosi 2<sup>10</sup>.", "Wynosi 2^10."],
    ["the mark of a footnote", "# T\n\nSee note<sup>3</sup> here.<sup>4</sup>", "See note here."],
    [
      "an ordinal, a unit, a formula",
      "# T\n\nThe 1<sup>st</sup> 5 km<sup>2</sup> of H<sub>2</sub>O.",
      "The 1st 5 km² of H2O.",
    ],
    ["a base", "# T\n\n101<sub>2</sub> is five.", "101_2 is five."],
    ["words that are raised", "# T\n\nName<sup>Trademark pending</sup>.", "Name Trademark pending."],
    ["words of a wiki's link", "# T\n\nRead [[Home|the start]] and [[Guide]].", "Read the start and Guide."],
    ["words inside of commands", "# T\n\nIt is \\emph{very \\textbf{good}}.", "It is very good."],
    [
      "prices, which are not formulas",
      "# T\n\nFrom $5 and up to $10, or $5-$10 in $HOME.",
      "From $5 and up to $10, or $5-$10 in $HOME.",
    ],
    [
      "variables of a shell, which are not formulas",
      "# T\n\nSet $HOME_DIR/$USER and PATH=$HOME/a_b:$PATH, run $(MAKE) D=$(CURDIR)/x, or $$ and $$.",
      "Set $HOME_DIR/$USER and PATH=$HOME/a_b:$PATH, run $(MAKE) D=$(CURDIR)/x, or $$ and $$.",
    ],
    [
      "times and namespaces, which are not emoji",
      "# T\n\nAt 10:30:15 use std::vector::size now.",
      "At 10:30:15 use std::vector::size now.",
    ],
    ["a path, which is not a command", "# T\n\nOpen C:\\Users\\{name} now.", "Open C:\\Users{name} now."],
    [
      "code, which is spoken as it is",
      "# T\n\nWrite `{% raw %}` and `$x$` and `:cake:`.",
      "Write {% raw %} and $x$ and :cake:.",
    ],
    [
      "words in angle brackets",
      "# T\n\nCopyright <year> <name of author>, as Array<string>.",
      "Copyright <year> <name of author>, as Array<string>.",
    ],
    [
      "brackets inside of brackets, and colons in a line",
      "# T\n\nTake [[1, 2], [3]] ::: or :: it.",
      "Take [[1, 2], [3]] ::: or :: it.",
    ],
    [
      "words with attributes",
      "# T {#t .x}\n\n[Small *caps*]{.sc} and [more](u){target=_blank}.\n{: .note}",
      "Small caps and more.",
    ],
    ["marked and raised words, and keys", "# T\n\n==One== ^^two^^ ++ctrl+c++ 2^10^.", "One two ctrl+c 2^10."],
    [
      "signs in a sentence",
      "# T\n\nIn C++ a == b and c==d, i++ and j++, x ^2 or 50%% of {a, b}, {x} and @ann {5}.",
      "In C++ a == b and c==d, i++ and j++, x ^2 or 50%% of {a, b}, {x} and @ann {5}.",
    ],
    [
      "lines of pandoc",
      "# T\n\n| One line\n| Two lines\n\n(@x) Three.\n\nTerm\n:   Four.",
      "One line\nTwo lines\n\nThree.\n\nTerm Four.",
    ],
    [
      "a box of MkDocs",
      '# T\n\n!!! note "Care"\n    One.\n\n    Two.\n\nThree.\n\n!!! Oh, four.',
      "Care\n\nOne.\n\nTwo.\n\nThree.\n\n!!! Oh, four.",
    ],
    ["tabs", '# T\n\n=== "A"\n\n    One two.\n\nLow\n===  \n\nThree.', "A\n\nOne two.\n\nLow\n\nThree."],
    [
      "a title in brackets",
      '# T\n\n:::tip[Look]\nOne.\n:::\n\n::: {.x title="Here"}\nTwo.\n:::',
      "Look\n\nOne.\n\nHere\n\nTwo.",
    ],
    ["a folded callout", "# T\n\n> [!note]- Look\n> here", "Note: Look here"],
    [
      "prose that begins with import",
      "# T\n\nimport duties from the continent are high.",
      "import duties from the continent are high.",
    ],
    ["a person in brackets", "# T\n\nGo [ask @john for it] or [@ann](x).", "Go [ask @john for it] or @ann."],
    ["a picture that is not a badge", "# T\n\n![A red fox](fox.svg) runs.", "A red fox runs."],
  ])("is spoken: %s", (_, markdown, words) => {
    expect(spokenTextOf(markdown).split("\n\n").slice(1).join("\n\n")).toBe(words);
  });

  it.each([
    [
      "formulas",
      "Take $x^2$ and $$\\sum_{i=0}^n i$$ away.",
      "Take and away.",
      { kind: "math", count: 2, excerpt: "$x^2$" },
    ],
    [
      "shortcodes",
      'See {{< figure src="a.png" >}} here {{% note %}}.',
      "See here .",
      { kind: "template", count: 2, excerpt: '{{< figure src="a.png" >}}' },
    ],
    [
      "tags of templates",
      "One {% include a.html %} two.",
      "One two.",
      { kind: "template", count: 1, excerpt: "{% include a.html %}" },
    ],
    ["marks of notes", "The end.<sup>3</sup>", "The end.", { kind: "reference", count: 1, excerpt: "3" }],
    ["a note in its place", "One^[See [@doe].] two.", "One two.", { kind: "footnote", count: 1 }],
    ["citations", "One [@doe; @roe, p. 3] two [see @doe99].", "One two.", { kind: "citation", count: 2 }],
    ["code of R", "One `r mean(x)` two `{python} x`.", "One two .", { kind: "code", count: 2 }],
    ["imports", "import A from '@b/A';\nimport './c.css';\n\nOne.", "One.", { kind: "code", count: 2 }],
    [
      "comments",
      "One %%two\ntwo%% three {/* four */} {# five #}.",
      "One three .",
      { kind: "comment", count: 3 },
    ],
    ["embedded files", "One ![[a.png|300]] two.", "One two.", { kind: "image", count: 1 }],
    ["names of blocks", "One two. ^my-block", "One two.", { kind: "attribute", count: 1 }],
    ["variables of templates", "One {{ x.y | upper }} two.", "One two.", { kind: "template", count: 1 }],
    ["commands of pages", "One. \\newpage", "One.", { kind: "latex", count: 1 }],
    ["containers", ":::tip\nBe kind.\n:::", "Be kind.", { kind: "template", count: 1, excerpt: ":::tip" }],
    [
      "codes of emoji",
      "A :cake: for :+1: you.",
      "A for you.",
      { kind: "emoji", count: 2, excerpt: ":cake:" },
    ],
    [
      "an index of LaTeX",
      "The whale\\index{whale} dived.",
      "The whale dived.",
      { kind: "latex", count: 1, excerpt: "\\index{whale}" },
    ],
    [
      "badges",
      "[![Build](https://img.shields.io/a.svg)](https://a.b) Text [![npm](https://a.b/v.svg)](https://c.d)",
      "Text",
      { kind: "badge", count: 2 },
    ],
  ])("is omitted and reported: %s", (_, markdown, words, row) => {
    const { parts, unspoken } = plan(`# T\n\n${markdown}`);
    expect(
      parts
        .map(({ text }) => text)
        .join("")
        .replace("T\n\n", ""),
    ).toBe(words);
    expect(unspoken).toMatchObject([row]);
  });

  it("gives the narration the title and the author of its front matter", () => {
    expect(plan('---\ntitle: "The Sea"\nauthor: Ann Lee\ntags: [x]\n---\nText.')).toMatchObject({
      title: "The Sea",
      author: "Ann Lee",
    });
    const none = plan("---\nsubtitle: No\n---\nText.");
    expect(none).not.toHaveProperty("title");
  });
});

const CLAUSE =
  "a) You must cause the modified files to carry prominent notices\n       stating that you changed the files and the date of any change.";

it("a text without any sign of Markdown keeps indented clauses, of a licence", () => {
  const text = `  2. You may modify your copy, provided that you also meet all of\nthese conditions:\n\n    ${CLAUSE}\n\n    b) You must cause any work to be licensed as a whole.\n\nTHE END`;
  const { parts, unspoken } = plan(text);
  expect(unspoken).toEqual([]);
  expect(parts.map((part) => part.text).join("")).toContain(
    "carry prominent notices stating that you changed",
  );
});

it("a text without any sign of Markdown keeps the lines of a poem, and the words in angle brackets", () => {
  expect(
    spokenTextOf(
      "He sang to <name of dog>:\n\n     Twinkle, twinkle, little bat!\n     How I wonder what you're at!\n\nThen he slept.",
    ),
  ).toBe(
    "He sang to <name of dog>:\n\nTwinkle, twinkle, little bat!\nHow I wonder what you're at!\n\nThen he slept.",
  );
});

describe("an indented block in Markdown", () => {
  it("is text if it consists of words", () => {
    const { parts, unspoken } = plan(`# Licence\n\nThese:\n\n    ${CLAUSE}\n`);
    expect(unspoken).toEqual([]);
    expect(parts[0]?.text).toContain(
      "a) You must cause the modified files to carry prominent notices stating",
    );
  });

  it("is text with a few words in angle brackets, too", () => {
    const notice =
      "<program>  Copyright (C) <year>  <name of author>\n    This program comes with NO WARRANTY; for details type `show w'.";
    expect(plan(`# Licence\n\nShow this:\n\n    ${notice}\n`).unspoken).toEqual([]);
  });

  it.each([
    "npm install --save marked",
    "make install all",
    "let total = sum(values);",
    "foo_bar baz qux",
    "git commit then push, or pull {it}",
  ])("is code if it does not: %s", (code) => {
    expect(plan(`# T\n\nRun:\n\n    ${code}\n`).unspoken).toMatchObject([{ kind: "code" }]);
  });
});

it.each([
  "$",
  "$a",
  "{{<",
  "{%a",
  ":a",
  "[[",
  "\\emph{",
  "<sup>",
  "`",
  "a<sup>",
  "<a b",
  "$$",
  ":::x\n",
  "1<sub>2",
  "*a",
  "    a) b\n",
  "^[a",
  "[@a",
  "{#a ",
  "]{a=b",
  "==a",
  "%%",
  "{/*",
  "++a+",
  "!!! a\n",
  "import a\n",
  "{{< code a >}}\n",
  "{% highlight a %}",
  "+--+\n| a\n\n",
  "{a}`b",
  "(a)=\n",
  ":::{a} b\n:c: d\n",
  "\n\n% a\n",
  "]{a='",
  "\n\n#Aa b\n\n",
  " ".repeat(60_000),
])("marks that are never closed are planned quickly: 200,000 characters of %j", (mark) => {
  const startCpuUsage = process.cpuUsage();
  plan(`# T\n\n${mark.repeat(200_000 / mark.length)}`);
  const { user, system } = process.cpuUsage(startCpuUsage);
  expect((user + system) / 1000).toBeLessThan(2_000);
});
