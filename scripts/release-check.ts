/** Says whether this can be published: a decided publisher, files in step, a changelog entry, and a bundle that is of these files. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { bundleFaults } from "./bundle-contents.ts";
import { isPlaceholder } from "./publication.ts";
import { filesOutOfStep, ROOT, readJson, readPublisher } from "./publication-files.ts";

const manifest = z
  .object({ name: z.string(), version: z.string(), private: z.boolean().default(false) })
  .parse(readJson("package.json"));

function faults(): string[] {
  const found: string[] = [];
  if (isPlaceholder(readPublisher())) {
    found.push("publisher.json still holds placeholders: decide who publishes, then npm run publisher.");
  }
  if (manifest.private)
    found.push("package.json is private: npm run publisher makes it public once all is decided.");
  for (const file of filesOutOfStep()) found.push(`${file} is out of step: npm run publisher.`);
  const changelog = readFileSync(join(ROOT, "CHANGELOG.md"), "utf8");
  const heading = changelog.split("\n").find((line) => line.startsWith(`## ${manifest.version}`));
  if (heading === undefined) found.push(`CHANGELOG.md says nothing of ${manifest.version}.`);
  else if (/unreleased/i.test(heading))
    found.push(`CHANGELOG.md still calls ${manifest.version} unreleased.`);
  return [...found, ...bundleFaults(ROOT, manifest)];
}

const found = faults();
for (const fault of found) console.error(`✗ ${fault}`);
console.log(found.length === 0 ? `${manifest.name} ${manifest.version} can be published.` : "Not yet.");
process.exitCode = found.length === 0 ? 0 : 1;
