/** The rules for the structure of the sources: layers, folders, first sentences, and writing to stdout (AGENTS.md). */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, it } from "vitest";

const SRC = join(import.meta.dirname, "..", "..", "src");

/** The layers from top to bottom; a file may import only from its own layer and those after it. */
const LAYERS: readonly string[] = [
  "main",
  "commands",
  "server",
  "tools",
  "narration",
  "requests",
  "ledger",
  "files",
  "api",
  "config",
  "audio",
  "shared files",
  "contract",
];

/** The folders of `narration` from top to bottom, with the same rule; `entry` are the files directly in it. */
const NARRATION_LAYERS: readonly string[] = ["entry", "planning", "timeline", "books", "text"];

interface Source {
  readonly path: string;
  readonly text: string;
  readonly imports: string[];
}

function sources(): Source[] {
  return readdirSync(SRC, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => {
      const text = readFileSync(join(SRC, name), "utf8");
      const specifiers = [...text.matchAll(/(?:from|import\()\s*"(\.{1,2}\/[^"]+)"/g)].map(
        (match) => match[1] ?? "",
      );
      const imports = specifiers.map((specifier) => relative(SRC, join(SRC, dirname(name), specifier)));
      return { path: name, text, imports };
    });
}

/** Folders outside the layers: `sandbox`, and `player`, which runs in a browser. */
const BESIDE: readonly string[] = ["sandbox", "player"];

function layerOf(path: string): string {
  if (!path.includes("/")) return path === "main.ts" ? "main" : "shared files";
  return path.split("/")[0] ?? "";
}

const all = sources();

describe("the structure of the sources", () => {
  it("imports only downwards", () => {
    const problems = all.flatMap(({ path, imports }) => {
      const from = layerOf(path);
      return imports
        .filter((target) => !target.startsWith(".."))
        .filter((target) => {
          const to = layerOf(target);
          if (from === "sandbox") return to !== "sandbox" && to !== "contract";
          // The player runs in a browser, so it imports nothing from the program, and the program nothing from it.
          if (from === "player" || to === "player") return from !== to;
          // Only two commands and the package's entry may import the sandbox.
          if (to === "sandbox")
            return !/^commands\/(?:private-)?sandbox(?:-loader|-entry|-command)?\.ts$/.test(path);
          return LAYERS.indexOf(from) > LAYERS.indexOf(to);
        })
        .map((target) => `${path} -> ${target}`);
    });
    expect(problems).toEqual([]);
  });

  it("imports only downwards inside narration/", () => {
    const layerIn = (path: string): string =>
      path.split("/").length > 2 ? (path.split("/")[1] ?? "") : "entry";
    const inside = all.filter(({ path }) => path.startsWith("narration/"));
    expect([...new Set(inside.map(({ path }) => layerIn(path)))].sort()).toEqual(
      [...NARRATION_LAYERS].sort(),
    );
    const problems = inside.flatMap(({ path, imports }) =>
      imports
        .filter((target) => target.startsWith("narration/"))
        .filter(
          (target) => NARRATION_LAYERS.indexOf(layerIn(path)) > NARRATION_LAYERS.indexOf(layerIn(target)),
        )
        .map((target) => `${path} -> ${target}`),
    );
    expect(problems).toEqual([]);
  });

  it("lets audio/ import only contract and errors", () => {
    const strangers = all.flatMap(({ path, imports }) =>
      imports.filter(
        (target) => path.startsWith("audio/") && !/^(?:audio\/|contract\/|errors\.ts$)/.test(target),
      ),
    );
    expect(strangers).toEqual([]);
  });

  it("lets the planner import no clock, network or ledger", () => {
    const problems = all
      .filter(({ path }) => path.startsWith("narration/text/"))
      .flatMap(({ path, imports }) => imports.map((target) => [path, target] as const))
      .filter(
        ([, target]) =>
          !/^(?:narration\/text\/|contract\/|files\/input-format|errors\.ts$|text-language\.ts$)/.test(
            target,
          ),
      );
    expect(problems).toEqual([]);
  });

  it("knows every layer by name", () => {
    const layers = new Set(all.map(({ path }) => layerOf(path)));
    expect([...layers].filter((layer) => ![...LAYERS, ...BESIDE].includes(layer))).toEqual([]);
  });

  it("has the same layers as AGENTS.md, in the same order", () => {
    const map = readFileSync(join(SRC, "..", "AGENTS.md"), "utf8");
    const rows = [...map.matchAll(/^\| `src\/([\w*]+)(?:\/|\.ts)` \|/gm)].map((match) => match[1] ?? "");
    expect(rows.map((row) => (row === "*" ? "shared files" : row))).toEqual(LAYERS);
  });

  it("opens every file with one sentence on what it does", () => {
    const silent = all.filter(({ text }) => !/^\/\*\*[^*]+[.;:!?)`] ?\*\/|^\/\*\*\n/.test(text));
    expect(silent.map(({ path }) => path)).toEqual([]);
  });

  it("gives every file a unique base name, except in sandbox and player", () => {
    const names = all
      .filter(({ path }) => !BESIDE.includes(layerOf(path)))
      .map(({ path }) => path.split("/").at(-1) ?? "");
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  it("gives every exported name one meaning, except in sandbox and player", () => {
    const names = all
      .filter(({ path }) => !BESIDE.includes(layerOf(path)))
      .flatMap(({ text }) => {
        const declared = text.matchAll(
          /^export (?:async )?(?:function\*?|class|interface|type|const) (\w+)/gm,
        );
        // Overloads of a function declare its name several times in one file.
        return [...new Set([...declared].map((match) => match[1] ?? ""))];
      });
    expect(names.length).toBeGreaterThan(500);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  it("uses no word that the glossary forbids in names", () => {
    const forbidden = /\b(?!allSettled|background|foreground)\w*(?:settle|ground)\w*/gi;
    const used = all.flatMap(({ path, text }) =>
      [...text.matchAll(forbidden)].map(([name]) => `${path}: ${name}`),
    );
    expect(used).toEqual([]);
    expect("#settled".match(forbidden)).toEqual(["settled"]);
  });

  it("has no circular imports", () => {
    const importsOf = new Map(all.map(({ path, imports }) => [path, imports]));
    const finished = new Set<string>();
    const circles: string[] = [];
    const visit = (path: string, way: readonly string[]): void => {
      if (way.includes(path)) {
        circles.push([...way.slice(way.indexOf(path)), path].join(" -> "));
        return;
      }
      if (finished.has(path)) return;
      for (const next of importsOf.get(path) ?? []) visit(next, [...way, path]);
      finished.add(path);
    };
    for (const path of importsOf.keys()) visit(path, []);
    expect(circles).toEqual([]);
  });

  it("writes to stdout from commands alone, and never through the console", () => {
    const offenders = all.filter(({ path, text }) => {
      const mayWrite = path.startsWith("commands/") && path !== "commands/serve.ts";
      return /\bconsole\./.test(text) || (!mayWrite && /stdout\.write|writeSync\(1\b/.test(text));
    });
    expect(offenders.map(({ path }) => path)).toEqual([]);
  });

  it("disables no type check and contains no to-do", () => {
    const marks =
      /: any\b|\bas any\b|\bas unknown as\b|@ts-(?:ignore|expect-error|nocheck)|\b(?:TODO|FIXME|XXX)\b/;
    expect(all.filter(({ text }) => marks.test(text)).map(({ path }) => path)).toEqual([]);
  });

  it("needs nothing installed at run time", () => {
    const manifest: unknown = JSON.parse(readFileSync(join(SRC, "..", "package.json"), "utf8"));
    expect(manifest).not.toHaveProperty("dependencies");
    const lock = readFileSync(join(SRC, "..", "package-lock.json"), "utf8");
    expect(lock).not.toContain('"resolved"');
  });
});
