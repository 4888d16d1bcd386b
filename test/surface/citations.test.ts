/** Comments that cite the documents cite an existing heading, and never a section number. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "..", "..");

interface Comment {
  readonly path: string;
  readonly text: string;
}

/** The comments of a file, each joined to one line: a block, or consecutive `//` lines. */
function commentsOf(source: string): string[] {
  return [...source.matchAll(/\/\*[\s\S]*?\*\/|(?:(?<!:)\/\/[^\n]*\n?[ \t]*)+/g)].map(([comment]) =>
    comment
      .replaceAll(/^\s*(?:\/\*\*?|\*(?!\/)|\/\/)|\*\/\s*$/gm, " ")
      .replaceAll(/\s+/g, " ")
      .trim(),
  );
}

function commentsIn(...folders: readonly string[]): Comment[] {
  return folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .flatMap((name) => {
        const path = join(folder, name);
        return commentsOf(readFileSync(join(ROOT, path), "utf8")).map((text) => ({ path, text }));
      }),
  );
}

function headingsOf(document: string): string[] {
  const text = readFileSync(join(ROOT, "docs", document), "utf8");
  return [...text.matchAll(/^## (.+)$/gm)].map((match) => match[1] ?? "");
}

const DOCUMENTS: ReadonlyMap<string, readonly string[]> = new Map(
  ["contract.md", "design.md"].map((document) => [document, headingsOf(document)]),
);

/** Matches the cited heading after the name of a document and a comma. It ends with punctuation or an "and". */
function brokenCitations(text: string): string[] {
  return [...text.matchAll(/docs\/([a-z]+\.md), (.{0,60})/g)]
    .filter(([, document = "", cited = ""]) => {
      const headings = DOCUMENTS.get(document) ?? [];
      return !headings.some(
        (heading) => cited.startsWith(heading) && /^(?:$|[).,;:]| and )/.test(cited.slice(heading.length)),
      );
    })
    .map(([citation]) => citation);
}

/** Matches section numbers, which change: after the name of a document, after "section", or alone in brackets (0.1.0 is a version). */
const NUMBERED = [
  /\b(?:design|contract)(?:'s)?,? (?:sections? )?\d/i,
  /(?<!RFC \d{1,5},? )\bsections? \d/i,
  /\([1-9]\.\d(?:\.\d)?(?:[),]| (?:rule|cross|idempotency)\b)/,
  /\b(?:cross|billing|idempotency) rules? \d/i,
];

const isNumbered = (text: string): boolean => NUMBERED.some((pattern) => pattern.test(text));

describe("citations", () => {
  it("are found together with the documents", () => {
    for (const headings of DOCUMENTS.values()) {
      expect(headings.length).toBeGreaterThan(15);
      expect(new Set(headings).size).toBe(headings.length);
    }
    expect(commentsIn("src").filter(({ text }) => text.includes("docs/contract.md")).length).toBeGreaterThan(
      10,
    );
  });

  it.each([
    ["a heading", "A bill (docs/contract.md, Billing).", 0],
    ["two headings", "Shown as docs/contract.md, AudioTask and States say.", 0],
    ["a document as a whole", "All of docs/contract.md on loopback.", 0],
    ["no such heading", "docs/contract.md, Bills", 1],
    ["more than a heading", "docs/design.md, Ledger on paper", 1],
    ["no such document", "docs/rules.md, Billing", 1],
  ])("are judged: %s", (_, text, broken) => {
    expect(brokenCitations(text)).toHaveLength(broken);
  });

  it.each([
    ["Sent again (design 6.5).", true],
    ["Reads contract section 2.2.", true],
    ["Queries a task (4.2).", true],
    ["At most two (billing rule 3)", true],
    ["A record of version 1 (0.1.0)", false],
    ["Gain, half to twice (0.5 to 2)", false],
    ["Ranges (RFC 7233 section 2.1)", false],
  ])("are found by number: %s", (text, found) => {
    expect(isNumbered(text)).toBe(found);
  });

  it("name an existing heading", () => {
    const wrong = commentsIn("src", "test", "bench", "scripts").flatMap(({ path, text }) =>
      brokenCitations(text).map((citation) => `${path}: ${citation}`),
    );
    expect(wrong).toEqual([]);
  });

  it("never name a section by its number", () => {
    const numbered = commentsIn("src")
      .filter(({ text }) => isNumbered(text))
      .map(({ path, text }) => `${path}: ${text}`);
    expect(numbered).toEqual([]);
  });
});
