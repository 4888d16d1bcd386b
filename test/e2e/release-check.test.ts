/** `npm run release-check` passes for a bundle of the current files, and otherwise names the stale part. */
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { zipSync } from "fflate";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { bundleFaults } from "../../scripts/bundle-contents.ts";

const manifest = { name: "some-server", version: "1.2.3" };
const BUNDLE = "bundle/some-server-1.2.3.mcpb";
const PARTS = ["manifest.json", "LICENSE", "assets/icon.png", "dist/main.js", "dist/chunks/a.js"];

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

  it.each([
    ["changed", () => write("dist/main.js", "other code")],
    ["added to", () => write("dist/chunks/b.js", "more code")],
    ["thinned", () => rmSync(join(root, "dist/chunks/a.js"))],
    ["removed", () => rmSync(join(root, "dist"), { recursive: true })],
  ])("made before dist/ was %s may not", (_what, change) => {
    change();
    expect(bundleFaults(root, manifest)).toEqual([
      "The bundle holds another dist than the one there is now: npm run bundle.",
    ]);
  });

  it.each([
    ["whose sum is missing", () => rmSync(join(root, `${BUNDLE}.sha256`)), /its sum is of/],
    ["whose sum is another", () => write(`${BUNDLE}.sha256`, `${"0".repeat(64)}  x\n`), /its sum is of/],
    ["without the registry's entry", () => rmSync(join(root, "bundle/server.json")), /no bundle of this/],
    ["with half a registry entry", () => write("bundle/server.json", "{"), /bundle\/server\.json is not/],
    ["that is cut short", () => write(BUNDLE, readFileSync(join(root, BUNDLE)).subarray(0, 99)), /be read/],
    ["that is missing", () => rmSync(join(root, BUNDLE)), /no bundle of this version/],
  ])("%s may not", (_what, change, words) => {
    change();
    const faults = bundleFaults(root, manifest);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(words);
  });
});
