/** `npm run release-check` names each missing file, and what is out of date in a bundle. */
import { createHash } from "node:crypto";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { zipSync } from "fflate";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { bundleFaults, pluginArchives } from "../../scripts/bundle-contents.ts";
import { releaseFaults } from "../../scripts/release-faults.ts";

const manifest = { name: "some-server", version: "1.2.3" };
const BUNDLE = "bundle/some-server-1.2.3.mcpb";
const PARTS = ["manifest.json", "LICENSE", "assets/icon.png", "dist/main.js", "dist/chunks/a.js"];

const PROJECT = join(import.meta.dirname, "..", "..");

let root = "";

function write(path: string, text: string | Uint8Array): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

const server = (owner: string, sum?: string): string =>
  JSON.stringify({
    name: `io.github.${owner}/some-server`,
    packages: [
      { registryType: "npm", identifier: "some-server" },
      { registryType: "mcpb", ...(sum === undefined ? {} : { fileSha256: sum }) },
    ],
  });

function bundle(): void {
  const archive = zipSync(Object.fromEntries(PARTS.map((path) => [path, readFileSync(join(root, path))])));
  const sum = createHash("sha256").update(archive).digest("hex");
  write(BUNDLE, archive);
  write(`${BUNDLE}.sha256`, `${sum}  some-server-1.2.3.mcpb\n`);
  write("bundle/server.json", server("placeholder-owner", sum));
  for (const name of pluginArchives(manifest.name)) write(`bundle/${name}`, "the plugins");
}

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "agm-release-"));
  for (const path of PARTS) write(path, `the ${path} of placeholder-owner, again and again and again`);
  write("dist/main.d.ts", "export {};");
  write("server.json", server("placeholder-owner"));
  bundle();
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe("a bundle", () => {
  it("of the current files may be released, types excluded", () => {
    expect(bundleFaults(root, manifest)).toEqual([]);
  });

  it("with a placeholder publisher may not be released", () => {
    write("manifest.json", "{}");
    write("server.json", server("someone"));
    expect(bundleFaults(root, manifest)).toEqual([
      "The bundle holds another manifest.json than the one there is now: npm run bundle.",
      "bundle/server.json is not server.json with the bundle's sum: npm run bundle.",
    ]);
  });

  it.each([["changed", () => write("dist/main.js", "other code")]])(
    "made before dist/ was %s may not be released",
    (_what, change) => {
      change();
      expect(bundleFaults(root, manifest)).toEqual([
        "The bundle holds another dist than the one there is now: npm run bundle.",
      ]);
    },
  );

  it.each([
    ["whose sum is missing", () => rmSync(join(root, `${BUNDLE}.sha256`)), /its sum is of/],
    ["without the registry's entry", () => rmSync(join(root, "bundle/server.json")), /no bundle of this/],
    [
      "without Gemini's archive",
      () => rmSync(join(root, "bundle/linux.some-server.tar.gz")),
      /linux.some-server.tar.gz is missing/,
    ],
    ["that is missing", () => rmSync(join(root, BUNDLE)), /no bundle of this version/],
  ])("%s may not be released", (_what, change, words) => {
    change();
    const faults = bundleFaults(root, manifest);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(words);
  });
});

describe("a release", () => {
  const NAMES = [
    "package.json",
    ...[".claude-plugin/plugin.json", ".claude-plugin/marketplace.json", ".codex-plugin/plugin.json"],
    ...[".cursor-plugin/plugin.json", "gemini-extension.json", "glama.json", "manifest.json", "server.json"],
    ...["sandbox-package/package.json", "sandbox-package/main.js", "sandbox-package/README.md"],
    ...["README.md", "SECURITY.md", "Dockerfile", "LICENSE", "CHANGELOG.md", "publisher.json"],
    ...["skills/narration/SKILL.md", "docs/troubleshooting.md", "assets/icon.png"],
    ...[".github/workflows/ci.yml", ".github/workflows/release.yml"],
    ...readdirSync(join(PROJECT, "assets")).map((name) => `assets/${name}`),
  ];
  let before: string[] = [];
  const faults = (env = {}): string[] => releaseFaults(root, env).filter((each) => !before.includes(each));

  beforeEach(() => {
    for (const name of NAMES) {
      mkdirSync(dirname(join(root, name)), { recursive: true });
      copyFileSync(join(PROJECT, name), join(root, name));
    }
    before = releaseFaults(root, {});
  });

  it.each(NAMES.filter((name) => !/^assets\/(?!icon)/.test(name)))(
    "without %s is refused, and the file is named",
    (name) => {
      rmSync(join(root, name));
      expect(faults()).toEqual([`${name} is missing: git restore ${name}.`]);
    },
  );

  it("under another tag is refused, and so is one without an entry in the changelog", () => {
    const tag = { GITHUB_REF_TYPE: "tag", GITHUB_REF_NAME: "v9.9.9" };
    expect(faults(tag)).toEqual([expect.stringMatching(/^The tag is v9\.9\.9, and package\.json has /)]);
    write("CHANGELOG.md", "# Changelog");
    expect(faults()).toEqual([expect.stringMatching(/^CHANGELOG\.md says nothing of /)]);
  });
});
