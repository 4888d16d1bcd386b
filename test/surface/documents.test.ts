/**
 * The documents agree with the repository: the files that they name exist, each term has one meaning, and the first
 * pages stay short.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { renderCommandHelp } from "../../src/commands/command-line.ts";
import { COMMANDS } from "../../src/commands/command-table.ts";
import { listSettingNames } from "../../src/config/config.ts";
import { ATTEMPT_STATUSES } from "../../src/ledger/schema.ts";
import { NOTE_KINDS } from "../../src/requests/note.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const MAPS = ["README.md", "AGENTS.md", "CONTRIBUTING.md"].concat(
  readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
);
const FOLDERS = ["src", "test", "scripts", "bench", "docs", "skills", "sandbox-package", "assets", ".github"];

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

const FILES: readonly string[] = [
  ...readdirSync(ROOT),
  ...FOLDERS.flatMap((folder) => [
    `${folder}/`,
    ...readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true }).map(
      (entry) =>
        `${join(entry.parentPath, entry.name).slice(ROOT.length + 1)}${entry.isDirectory() ? "/" : ""}`,
    ),
  ]),
];

/**
 * Returns the files and folders that a text names and that do not exist. Folders are recognised only in code marks. A
 * name may leave out the folders above it.
 */
function missingPaths(text: string): string[] {
  const files = [...text.matchAll(/(?<![\w./*>-])[\w./-]*\w\.(?:ts|md)\b/g)].map(([path]) =>
    path.replace(/^(?:\.\.\/)+/, ""),
  );
  const folders = [...text.matchAll(/`((?:[\w-]+\/)+)`/g)].map((match) => match[1] ?? "");
  return [...files, ...folders].filter(
    (path) => !FILES.some((file) => file === path || file.endsWith(`/${path}`)),
  );
}

/** Returns the terms of each table whose first column is headed `term`. */
function termTables(text: string): string[][] {
  return [...text.matchAll(/^\| term \|.*\n\|[-|]+\n((?:\|.*\n)+)/gm)].map(([, table = ""]) =>
    [...table.matchAll(/^\| (.+?) \|/gm)].flatMap((match) => (match[1] ?? "").split(", ")),
  );
}

const termsOf = (text: string): string[] => termTables(text).flat();

const SOURCES = FILES.filter(
  (path) => /^(?:src|test|scripts)\/.*\.ts$/.test(path) && !path.endsWith("documents.test.ts"),
)
  .map(read)
  .join("\n");

/** Returns the identifiers in code marks, such as `readSettings` and `Ledger.apply`, that no source contains. */
function missingIdentifiers(text: string): string[] {
  const identifiers = [...text.matchAll(/`#?([A-Za-z_]\w*(?:\.\w+)*)(?:\([^`]*\))?`/g)]
    .flatMap((match) => (match[1] ?? "").split("."))
    .filter((name) => /[a-z][A-Z]|^[A-Z][a-z]+[A-Z]|^[A-Z][A-Z_]+_[A-Z_]+$/.test(name));
  return identifiers.filter((name) => !new RegExp(`\\b${name}\\b`).test(SOURCES));
}

const repeated = (names: readonly string[]): string[] =>
  names.filter((name, index) => names.indexOf(name) !== index);

const GLOSSARY = "docs/glossary.md";

describe("the documents", () => {
  it.each(MAPS)("name only files and folders that exist: %s", (path) => {
    expect(missingPaths(read(path))).toEqual([]);
  });

  it.each(MAPS)("name only identifiers that exist: %s", (path) => {
    expect(missingIdentifiers(read(path))).toEqual([]);
  });

  it("are reported for identifiers that do not exist", () => {
    expect(
      missingIdentifiers("`Ledger.apply`, `readSettings` of `NO_SUCH_NAME`, `noSuchName(…)`, `npm`"),
    ).toEqual(["NO_SUCH_NAME", "noSuchName"]);
  });

  it("are reported for names that do not exist", () => {
    expect(
      missingPaths("`src/tools/catalog.ts`, `requests/note.ts`, `test/e2e/`, src/tools/<name>.ts"),
    ).toEqual([]);
    expect(missingPaths("`src/tools/no-such.ts`, `other/note.ts`, `test/no-such/`")).toEqual([
      "src/tools/no-such.ts",
      "other/note.ts",
      "test/no-such/",
    ]);
  });

  it("define each term once", () => {
    const terms = termsOf(read(GLOSSARY));
    expect(terms.length).toBeGreaterThan(40);
    expect(repeated(terms)).toEqual([]);
    for (const table of termTables(read(GLOSSARY)))
      expect(table).toEqual(table.toSorted((one, other) => one.localeCompare(other, "en")));
  });

  it("define terms in the glossary alone", () => {
    const others = [...readdirSync(ROOT), ...MAPS]
      .filter((path) => path.endsWith(".md") && path !== GLOSSARY)
      .filter((path) => termsOf(read(path)).length > 0);
    expect(others).toEqual([]);
  });

  it("give a term no second row under another name of the same meaning", () => {
    const meanings = [...read(GLOSSARY).matchAll(/^\| (?!term ).+? \| (.+) \|$/gm)].map(
      (match) => match[1] ?? "",
    );
    expect(repeated(meanings)).toEqual([]);
  });

  it("keep the README at 15,000 characters, because people read it before they install", () => {
    expect(read("README.md").length).toBeLessThanOrEqual(15_000);
  });

  it("keep AGENTS.md on one screen", () => {
    expect(read("AGENTS.md").split("\n").length).toBeLessThanOrEqual(70);
  });
});

describe("a setting", () => {
  const names = readdirSync(join(ROOT, "src", "config")).flatMap((file) =>
    [...read(join("src", "config", file)).matchAll(/"(AUDIO_[A-Z_]+)"/g)].map(([, name = ""]) => name),
  );

  it.each([...new Set(names)])(
    "%s is in the reference, and in the README and the help unless it is for tests",
    (name) => {
      expect(read("docs/reference.md")).toContain(name);
      if (name === "AUDIO_TIME_SCALE") return;
      expect(read("README.md")).toContain(name);
      expect(listSettingNames()).toContain(name);
    },
  );
});

it("docs/commands.md is made of the table that parses the options", async () => {
  const help = COMMANDS.map(
    (command) => `## ${command.name}\n\n\`\`\`text\n${renderCommandHelp(command, 100)}\`\`\`\n`,
  );
  const intro =
    "Each command says this with `--help`. Exit codes and further rules are in [the reference](reference.md#command-line). `npx vitest run test/surface/documents.test.ts -u` writes this page.";
  const page = ["# Commands\n", `${intro}\n`, ...help].join("\n");
  await expect(page).toMatchFileSnapshot(join(ROOT, "docs", "commands.md"));
});

describe("docs/reference-requests.md", () => {
  /** The rows of the first table below a heading, by the name in their first cell. */
  const namesBelow = (heading: string): string[] => {
    const section = read("docs/reference-requests.md").split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
    return [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, name = ""]) => name);
  };

  it.each([
    ["Lifecycle", ATTEMPT_STATUSES],
    ["Why it waits", NOTE_KINDS],
  ] as const)("names in %s every value of the column, and no others", (heading, values) => {
    expect(values.length).toBeGreaterThan(6);
    expect(namesBelow(heading).sort()).toEqual([...values].sort());
  });
});

it("the overview names files that really change each table of the ledger", () => {
  const rows = [...read("docs/overview.md").matchAll(/^\|[^|]+\| `(agm_\w+)` \| (.+) \|$/gm)];
  expect(rows.length).toBeGreaterThan(6);
  for (const [, table = "", files = ""] of rows)
    for (const [, file = ""] of files.matchAll(/`(\S+\.ts)`/g))
      expect(read(`src/${file}`), `${file} changes ${table}`).toMatch(
        new RegExp(`(?:insertInto|updateTable|deleteFrom)\\("${table}"\\)`),
      );
});
