/** Builds the notices file: the licence of every package whose code is in the bundle, as the bundler reports it. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { z } from "zod";

const manifestSchema = z.object({
  name: z.string(),
  version: z.string(),
  license: z.string(),
  author: z.union([z.string(), z.object({ name: z.string() })]).optional(),
});

interface Notice {
  readonly title: string;
  readonly text: string;
}

const mit = (copyrightHolder: string): string => `MIT License

Copyright (c) ${copyrightHolder}

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`;

/** Copyright holders of packages that state MIT but have no licence file, as named in their readmes. */
const HOLDERS: Readonly<Record<string, string>> = {
  "pg-types": "2014 Brian M. Carlson",
  pgpass: "2013-2016 Hannes Hörl",
};

/** Returns the notices of code that is compiled into undici, because undici's package.json does not mention it. */
const inUndici = (folder: string): readonly Notice[] => [
  { title: "llhttp (inside undici; MIT)", text: mit("Fedor Indutny, 2018") },
  {
    title: "milo (inside undici; ISC)",
    text: readFileSync(join(folder, "lib", "milo", "LICENSE.md"), "utf8").trim(),
  },
];

/** Returns the notice of the file in the reader view that has a licence of its own. */
const inReadability = (folder: string): readonly Notice[] => [
  {
    title: "JSDOMParser.js (inside @mozilla/readability; MPL-2.0)",
    text: `${/^\/\*[\s\S]*?\*\//.exec(readFileSync(join(folder, "JSDOMParser.js"), "utf8"))?.[0]}\n\nIts source code is the file JSDOMParser.js of the npm package @mozilla/readability.`,
  },
];

const PACKAGE_FOLDER = /^(.*[/\\]node_modules[/\\](?:@[^/\\]+[/\\])?[^/\\]+)[/\\]/;
/** Matches the marks that a bundler leaves in a package's published code for each package that it compiled in. */
const REGION = /^\/\/#region .*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//gm;

function noticeOf(folder: string): Notice {
  const manifest = manifestSchema.parse(JSON.parse(readFileSync(join(folder, "package.json"), "utf8")));
  const title = `${manifest.name} ${manifest.version} (${manifest.license})`;
  const file = readdirSync(folder).find((name) => /^(licen[cs]e|copying)(-mit)?(\.|$)/i.test(name));
  if (file !== undefined) return { title, text: readFileSync(join(folder, file), "utf8").trim() };
  const copyrightHolder = HOLDERS[manifest.name];
  if (manifest.license === "MIT" && copyrightHolder !== undefined)
    return { title, text: mit(copyrightHolder) };
  throw new Error(`${manifest.name} is in the bundle and its licence text is nowhere: find out and add it`);
}

/** Returns the folders of the packages that were compiled into a module's published code. */
function vendored(moduleId: string, root: string): string[] {
  const names = [...readFileSync(moduleId, "utf8").matchAll(REGION)].map((match) => match[1] ?? "");
  return [...new Set(names)].map((name) => {
    const folder = join(root, "node_modules", name);
    if (!existsSync(folder))
      throw new Error(`${name} is compiled into ${moduleId} and is not installed here`);
    return folder;
  });
}

/**
 * Returns the text of the notices file.
 *
 * @param moduleIds absolute paths of every module whose code is in the bundle
 */
export function thirdPartyNotices(moduleIds: readonly string[], root: string): string {
  const folders = new Set<string>();
  for (const id of moduleIds) {
    const folder = PACKAGE_FOLDER.exec(id)?.[1];
    if (folder === undefined) continue;
    folders.add(folder);
    for (const inner of vendored(id, root)) folders.add(inner);
  }
  const notices = [...folders].flatMap((folder) => [
    noticeOf(folder),
    ...(basename(folder) === "undici" ? inUndici(folder) : []),
    ...(basename(folder) === "readability" ? inReadability(folder) : []),
  ]);
  notices.sort((a, b) => a.title.localeCompare(b.title, "en"));
  const list = notices.map(({ title }) => `  ${title}`).join("\n");
  const texts = notices.map(({ title, text }) => `${"=".repeat(80)}\n${title}\n\n${text}\n`).join("\n");
  return `The code of these packages is part of this program:\n\n${list}\n\n${texts}`;
}
