/**
 * Packs the files of a release into `bundle/`: the `.mcpb` for Claude Desktop, its SHA-256, the registry entry
 * that names it, and the archives of the plugins.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { z } from "zod";
import { BUNDLE_PARTS, isBundled, PLUGIN_PARTS, pluginArchives, sha256, withSum } from "./bundle-contents.ts";
import { cachedTool } from "./cached-packages.ts";
import { bundleName } from "./publication.ts";
import { filesOutOfStep, ROOT, readJson } from "./publication-files.ts";

const behind = filesOutOfStep();
if (behind.length > 0) throw new Error(`${behind.join(", ")} is out of step: npm run publisher`);

const manifest = z.object({ name: z.string(), version: z.string() }).parse(readJson("package.json"));
const folder = join(ROOT, "bundle");
const stage = join(ROOT, "node_modules", ".cache", `bundle-${process.pid}`);
const target = join(folder, bundleName(manifest));

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
for (const part of BUNDLE_PARTS) {
  cpSync(join(ROOT, part), join(stage, part), { recursive: true, filter: isBundled });
}
const mcpb = cachedTool("mcpb");
try {
  execFileSync(process.execPath, [mcpb, "validate", join(stage, "manifest.json")], { stdio: "inherit" });
  execFileSync(process.execPath, [mcpb, "pack", ".", target], { cwd: stage, stdio: "inherit" });
} finally {
  rmSync(stage, { recursive: true, force: true });
}
for (const name of pluginArchives(manifest.name)) {
  execFileSync("tar", ["-czf", join(folder, name), ...PLUGIN_PARTS], { cwd: ROOT, stdio: "inherit" });
}
// The bundle is not signed, because the tool's signatures do not verify and have prevented installations. The
// SHA-256 replaces the signature.
const sum = sha256(readFileSync(target));
writeFileSync(`${target}.sha256`, `${sum}  ${basename(target)}\n`);
const entry = withSum(readJson("server.json"), sum);
writeFileSync(join(folder, "server.json"), `${JSON.stringify(entry, null, 2)}\n`);
console.log(`\n${target}\n${statSync(target).size} bytes, SHA-256 ${sum}`);
