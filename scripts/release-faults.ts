/** Finds what prevents a release, and states the fix for each fault. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { bundleFaults } from "./bundle-contents.ts";
import { holdsPlaceholder, isPlaceholder, JSON_FILES, TEXT_FILES } from "./publication.ts";
import { filesOutOfStep, readJson, readPublisher } from "./publication-files.ts";

const manifestSchema = z.looseObject({
  name: z.string(),
  version: z.string(),
  private: z.boolean().default(false),
});

/** Files that a release needs, in addition to those that `fillIn` writes. */
const WRITTEN_FILES = [
  "publisher.json",
  "CHANGELOG.md",
  "LICENSE",
  "skills/narration/SKILL.md",
  "sandbox-package/main.js",
  "docs/troubleshooting.md",
  "assets/icon.png",
  ".github/workflows/ci.yml",
  ".github/workflows/release.yml",
] as const;

/** The minimum width in pixels that directories require of pictures. */
const MIN_PICTURE_WIDTH = 1000;

const textOf = (root: string, name: string): string => {
  const path = join(root, name);
  return existsSync(path) ? readFileSync(path, "utf8") : "";
};

function builtCode(root: string): string {
  const folder = join(root, "dist");
  if (!existsSync(folder)) return "";
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return files
    .filter((name) => name.endsWith(".js"))
    .map((name) => textOf(root, join("dist", name)))
    .join("\n");
}

function changelogFaults(root: string, version: string): string[] {
  const lines = textOf(root, "CHANGELOG.md").split("\n");
  const heading = lines.find((line) => line.startsWith(`## ${version}`));
  if (heading === undefined) return [`CHANGELOG.md says nothing of ${version}: write its entry.`];
  return /unreleased/i.test(heading)
    ? [`CHANGELOG.md still calls ${version} unreleased: write the date of the release.`]
    : [];
}

/** The beginning of a sentence in the README. This sentence must be deleted before the first release. */
const UNPUBLISHED = "Until the first version is published";

function readmeFaults(root: string): string[] {
  return textOf(root, "README.md").includes(UNPUBLISHED)
    ? [`README.md still says "${UNPUBLISHED}": delete that sentence.`]
    : [];
}

/** Reads the width of a PNG, which is at a fixed offset. */
const widthOf = (path: string): number => readFileSync(path).readUInt32BE(16);

function pictureFaults(root: string): string[] {
  const folder = join(root, "assets");
  const pictures = existsSync(folder)
    ? readdirSync(folder).filter((name) => name.endsWith(".png") && name !== "icon.png")
    : [];
  if (pictures.length === 0) return ["assets/ has no picture: UPDATE_PICTURES=1 npm run test:player."];
  return pictures
    .filter((name) => widthOf(join(folder, name)) < MIN_PICTURE_WIDTH)
    .map(
      (name) =>
        `assets/${name} is less than ${MIN_PICTURE_WIDTH} pixels wide: UPDATE_PICTURES=1 npm run test:player.`,
    );
}

/** Checks the tag. If a tag started the workflow, it must be the tag of this version. */
function tagFaults(
  { GITHUB_REF_TYPE: kind, GITHUB_REF_NAME: tag }: NodeJS.ProcessEnv,
  version: string,
): string[] {
  if (kind !== "tag" || tag === `v${version}`) return [];
  return [`The tag is ${tag}, and package.json has ${version}: tag v${version}.`];
}

/** Returns what prevents a release; empty if nothing does. */
export function releaseFaults(root: string, env: NodeJS.ProcessEnv): string[] {
  const missing = [...JSON_FILES, ...TEXT_FILES, ...WRITTEN_FILES].filter(
    (name) => textOf(root, name) === "",
  );
  // Stop here if files are missing, because the other checks read them.
  if (missing.length > 0) return missing.map((name) => `${name} is missing: git restore ${name}.`);
  const manifest = manifestSchema.parse(readJson("package.json", root));
  const found: string[] = [];
  if (isPlaceholder(readPublisher(root))) {
    found.push("publisher.json still holds placeholders: decide who publishes, then npm run publisher.");
  }
  if (manifest.private) {
    found.push("package.json is private: npm run publisher makes it public once all is decided.");
  }
  for (const file of filesOutOfStep(root)) found.push(`${file} is out of step: npm run publisher.`);
  for (const file of [...JSON_FILES, ...TEXT_FILES]) {
    if (holdsPlaceholder(textOf(root, file))) found.push(`${file} holds a placeholder: npm run publisher.`);
  }
  // The built code contains the repository's address, because the server tells clients where its icon and website are.
  if (holdsPlaceholder(builtCode(root))) found.push("dist holds a placeholder: npm run bundle.");
  return [
    ...found,
    ...changelogFaults(root, manifest.version),
    ...readmeFaults(root),
    ...tagFaults(env, manifest.version),
    ...pictureFaults(root),
    ...bundleFaults(root, manifest),
  ];
}
