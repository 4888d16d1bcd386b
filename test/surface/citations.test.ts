/** Each citation of a document names a file and a heading that exist, in comments and in the documents. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "..", "..");

interface Text {
  readonly path: string;
  readonly text: string;
}

function filesIn(folder: string, extension: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(extension))
    .map((name) => join(folder, name));
}

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

/** Returns the comments of one file, each as one line. Consecutive `//` lines are one comment. */
function commentsOf(source: string): string[] {
  return [...source.matchAll(/\/\*[\s\S]*?\*\/|(?:(?<!:)\/\/[^\n]*\n?[ \t]*)+/g)].map(([comment]) =>
    comment
      .replaceAll(/^\s*(?:\/\*\*?|\*(?!\/)|\/\/)|\*\/\s*$/gm, " ")
      .replaceAll(/\s+/g, " ")
      .trim(),
  );
}

const commentsIn = (...folders: readonly string[]): Text[] =>
  folders
    .flatMap((folder) => filesIn(folder, ".ts"))
    .flatMap((path) => commentsOf(read(path)).map((text) => ({ path, text })));

/** The project's own pages. Under `test` only the READMEs, because the other pages there are input of tests. */
const DOCUMENTS: readonly Text[] = [
  ...readdirSync(ROOT).filter((name) => name.endsWith(".md")),
  ...filesIn("docs", ".md"),
  ...["bench", "test"].flatMap((folder) => filesIn(folder, "README.md")),
].map((path) => ({ path, text: read(path) }));

const headingsOf = (text: string): string[] =>
  [...text.matchAll(/^#{2,} (.+)$/gm)].map((match) => match[1] ?? "");

const HEADINGS: ReadonlyMap<string, readonly string[]> = new Map(
  DOCUMENTS.map(({ path, text }) => [path, headingsOf(text)]),
);

/** Returns the heading with which a text begins. The heading ends before punctuation or an "and". */
function headingAt(text: string, headings: readonly string[]): string | undefined {
  return headings
    .filter(
      (heading) =>
        text.startsWith(heading) && /^(?:$|[).,;:"]| and | says?\b)/.test(text.slice(heading.length)),
    )
    .sort((one, other) => other.length - one.length)[0];
}

/** Returns citations, such as "docs/contract.md, Create and Idempotency", whose file or headings do not exist. */
function brokenCitations(text: string): string[] {
  return [...text.matchAll(/(docs\/[\w/-]+\.md)(?:, (.{1,80}))?/g)].flatMap(([, document = "", cited]) => {
    const headings = HEADINGS.get(document);
    if (headings === undefined) return [document];
    let rest = cited;
    while (rest !== undefined) {
      const heading = headingAt(rest, headings);
      if (heading === undefined) return [`${document}, ${rest}`];
      // A further capital letter begins a further heading. Anything else continues the sentence.
      rest = /^(?:, | and |, and )([A-Z].*)/.exec(rest.slice(heading.length))?.[1];
    }
    return [];
  });
}

/** Returns the anchor that hosts of repositories make from a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");

/**
 * Returns the broken links of a page: links to files of this repository, with or without an anchor, and "(see Heading)"
 * within the page.
 */
function brokenLinks({ path, text }: Text): string[] {
  const links = [...text.matchAll(/\]\(([^)\s]*)\)/g)]
    .map((match) => match[1] ?? "")
    .filter((target) => !/^[a-z]+:/.test(target))
    .filter((target) => {
      const [file = "", anchor] = target.split("#");
      const linked = file === "" ? path : join(dirname(path), file);
      if (!existsSync(join(ROOT, linked))) return true;
      return anchor !== undefined && !HEADINGS.get(linked)?.map(anchorOf).includes(anchor);
    });
  const headings = HEADINGS.get(path) ?? [];
  const seen = [...text.matchAll(/\(see ([A-Z][^)]*)\)/g)].map((match) => match[1] ?? "");
  return [...links, ...seen.filter((heading) => !headings.includes(heading))];
}

/** Returns the names in code style, such as `planByKind`, that occur nowhere in `words`. */
const missingNames = (text: string, words: ReadonlySet<string>): string[] =>
  [...text.matchAll(/`#?([a-z]+[A-Z]\w*)(?:\(\))?`/g)]
    .map((match) => match[1] ?? "")
    .filter((name) => !words.has(name));

/**
 * Returns the names that a page ascribes to a file, and that the file does not contain. A page writes `ledger.ts`
 * (`apply`), or gives the name and the file in the first two cells of a table.
 */
function missingFromFile(text: string, sources: ReadonlyMap<string, string>): string[] {
  const cited = [...text.matchAll(/`([\w/-]+\.ts)` \(`(\w+)`\)/g)].map(
    ([citation, file = "", name = ""]) => ({ citation, files: [file], names: [name] }),
  );
  const rows = [...text.matchAll(/^\| (`[a-z]\w*`[^|]*) \| ([^|]*\.ts`) \|/gm)].map(
    ([citation, first = "", second = ""]) => ({
      citation,
      files: [...second.matchAll(/`([\w/-]+\.ts)`/g)].map((match) => match[1] ?? ""),
      names: [...first.matchAll(/`(\w+)`/g)].map((match) => match[1] ?? ""),
    }),
  );
  return [...cited, ...rows].flatMap(({ citation, files, names }) => {
    // A page may leave out the first folders of a path.
    const contents = [...sources]
      .filter(([path]) => files.some((file) => `/${path}`.endsWith(`/${file}`)))
      .map(([, content]) => content)
      .join("\n");
    return names.every((name) => new RegExp(`\\b${name}\\b`).test(contents)) ? [] : [citation];
  });
}

/**
 * Returns the tests that a README in `test` cites, but that do not exist. A README cites files, such as
 * `ledger/processes.test.ts`, and titles, quoted after a file. A path is relative to `test`, to the README's folder or to
 * the root.
 */
function missingTests({ path, text }: Text): string[] {
  const cited = text.matchAll(/`([\w./-]+\.ts)`((?:(?:,| and)? "[^"]+")*)/g);
  return [...cited].flatMap(([, file = "", titles = ""]) => {
    const found = ["test", dirname(path), ""].map((folder) => join(folder, file)).find(isFile);
    if (found === undefined) return [file];
    const source = read(found).replaceAll('\\"', '"');
    return [...titles.matchAll(/"([^"]+)"/g)]
      .map(([, title = ""]) => title)
      .filter((title) => !source.includes(title));
  });
}

const isFile = (path: string): boolean => existsSync(join(ROOT, path));

/**
 * Patterns of section numbers. Citations must not contain these numbers, because they can change. A number is found
 * after the name of a document, after "section", after the name of a rule, or alone in brackets. (0.1.0 is a version.)
 */
const NUMBERED = [
  /\b(?:reference|contract)(?:'s)?,? (?:sections? )?\d/i,
  /(?<!RFC \d{1,5},? )\bsections? \d/i,
  /\([1-9]\.\d(?:\.\d)?(?:[),]| (?:rule|cross|idempotency)\b)/,
  /\b(?:cross|billing|idempotency) rules? \d/i,
];

const isNumbered = (text: string): boolean => NUMBERED.some((pattern) => pattern.test(text));

describe("citations", () => {
  it.each([
    ["a heading", "A bill (docs/contract.md, Billing).", 0],
    ["two headings", "Shown as docs/contract.md, AudioTask and States say.", 0],
    ["three headings", "Refused (docs/contract.md, Errors, Limits and Versions).", 0],
    ["a document as a whole", "All of docs/contract.md on loopback.", 0],
    ["no such heading", "docs/contract.md, Bills", 1],
    ["no such second heading", "docs/contract.md, Create and Bills", 1],
    ["more than a heading", "docs/reference-requests.md, Ledger on paper", 1],
    ["no such document", "docs/rules.md, Billing", 1],
    ["no such document as a whole", "All of docs/rules.md on loopback.", 1],
  ])("are checked: %s", (_, text, broken) => {
    expect(brokenCitations(text)).toHaveLength(broken);
  });

  it.each([
    ["a page", "[rules](contract.md)", 0],
    ["a heading of a page", "[rules](contract.md#what-is-not-stated)", 0],
    ["a heading of the same page", "(see Names of files)", 0],
    ["no such page", "[rules](rules.md)", 1],
    ["no such heading of a page", "[rules](contract.md#bills)", 1],
    ["no such heading of the same page", "(see Bills)", 1],
  ])("by a link are checked: %s", (_, text, broken) => {
    expect(brokenLinks({ path: "docs/reference-files.md", text })).toHaveLength(broken);
  });

  it.each([
    ["Sent again (reference 6.5).", true],
    ["Reads contract section 2.2.", true],
    ["Queries a task (4.2).", true],
    ["At most two (billing rule 3)", true],
    ["A record of version 1 (0.1.0)", false],
    ["Gain, half to twice (0.5 to 2)", false],
    ["Ranges (RFC 7233 section 2.1)", false],
  ])("are found by number: %s", (text, found) => {
    expect(isNumbered(text)).toBe(found);
  });

  it("name a file and a heading that exist", () => {
    const here = join("test", "surface", "citations.test.ts");
    const texts = [...commentsIn("src", "test", "bench", "scripts"), ...DOCUMENTS];
    const problems = texts
      .filter(({ path }) => path !== here)
      .flatMap(({ path, text }) => brokenCitations(text).map((citation) => `${path}: ${citation}`));
    expect(problems).toEqual([]);
  });

  it("link to a file and a heading that exist", () => {
    const problems = DOCUMENTS.flatMap((document) =>
      brokenLinks(document).map((target) => `${document.path}: ${target}`),
    );
    expect(problems).toEqual([]);
  });

  it.each([
    ["`plan.ts` (`planAll`) plans", 0],
    ["`plan.ts` (`planNothing`) plans", 1],
    ["| `planAll` | `src/plan.ts` | plans |", 0],
    ["| `planAll`, `load` | `src/plan.ts`, `src/load.ts` | loads |", 0],
    ["| `planNothing` | `src/plan.ts` | plans |", 1],
  ])("find a name that its file does not have: %s", (text, missing) => {
    const sources = new Map([
      ["src/plan.ts", "function planAll() {}"],
      ["src/load.ts", "function load() {}"],
      ["src/planning/empty-plan.ts", "function planNothing() {}"],
    ]);
    expect(missingFromFile(text, sources)).toHaveLength(missing);
  });

  it("name functions and fields that the sources have", () => {
    const paths = ["src", "test", "bench", "scripts"].flatMap((folder) => filesIn(folder, ".ts"));
    const texts = paths.map(read);
    const inSrc = paths.filter((path) => path.startsWith("src"));
    const sources = new Map(inSrc.map((path) => [path, read(path)]));
    const words = new Set(texts.flatMap((source) => source.match(/[A-Za-z_$][\w$]*/g) ?? []));
    const pages = DOCUMENTS.filter(({ path }) => path !== "CHANGELOG.md");
    const missing = pages.flatMap(({ path, text }) =>
      [...missingNames(text, words), ...missingFromFile(text, sources)].map((name) => `${path}: ${name}`),
    );
    expect(missing).toEqual([]);
  });

  it("name no section by its number", () => {
    const numbered = commentsIn("src")
      .filter(({ text }) => isNumbered(text))
      .map(({ path, text }) => `${path}: ${text}`);
    expect(numbered).toEqual([]);
  });
});

describe("READMEs of tests", () => {
  const readmes = DOCUMENTS.filter(({ path }) => /^test\b.*README\.md$/.test(path));

  it.each([
    ["a file and its title", '`surface/citations.test.ts` "READMEs of tests"', 0],
    ["a file beside the page", "`citations.test.ts`", 0],
    ["no such file", "`surface/no-such.test.ts`", 1],
    ["one of two titles", `\`surface/citations.test.ts\` "READMEs of tests", "${"no such"} title"`, 1],
  ])("are checked: %s", (_, text, missing) => {
    expect(missingTests({ path: "test/surface/README.md", text })).toHaveLength(missing);
  });

  it("cite only tests that exist", () => {
    expect(readmes.map(({ path }) => path)).toContain(join("test", "faults", "README.md"));
    expect(readmes.flatMap((readme) => missingTests(readme))).toEqual([]);
  });

  it("name only files of their folder in the table of texts", () => {
    const { text = "" } = readmes.find(({ path }) => path.includes(join("narration", "text"))) ?? {};
    const files = [...text.matchAll(/`([a-z-]+)`:/g)].map(([, name = ""]) => name);
    expect(files.length).toBeGreaterThan(50);
    expect(files.filter((name) => !isFile(join("test", "narration", "text", `${name}.test.ts`)))).toEqual([]);
  });
});
