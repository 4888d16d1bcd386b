/**
 * Builds `dist/`: the bin and its chunks, with everything that the server needs. The sandbox's packages are not
 * bundled, because they are optional peers.
 */
import { chmod, cp, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { skillEntry } from "@modelcontextprotocol/server/ext/skills";
import { build } from "rolldown";
import { SANDBOX_PACKAGES } from "../src/commands/sandbox-loader.ts";
import { buildToolList } from "../src/server/tool-list.ts";
import { playerPage } from "./player-page.ts";
import { thirdPartyNotices } from "./third-party-notices.ts";

const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");
// Build in another folder and replace `dist/` as a whole, so that nobody starts half a build.
const fresh = join(root, "node_modules", ".cache", `dist-${process.pid}`);
const external = [/^node:/, ...SANDBOX_PACKAGES.flatMap((name) => [name, new RegExp(`^${name}/`)])];

const skill = await readFile(join(root, "skills/narration/SKILL.md"), "utf8");
const builtSkill = { entry: await skillEntry("narration", { "SKILL.md": skill }), text: skill };

const page = await playerPage();
/** Bundles the player page as a text, which is loaded when a host asks for it. */
const builtPlayer = {
  name: "built-player",
  load: {
    filter: { id: /\/src\/server\/player-page\.ts$/ },
    handler: () => `const page = ${JSON.stringify(page)};\nexport const readPlayerPage = () => page;`,
  },
};

/**
 * Bundles the skill as data, so that the code that parses its frontmatter and hashes its bytes stays out of the
 * bundle.
 */
const skillAsData = {
  name: "built-skill",
  load: {
    filter: { id: /\/src\/server\/built-skill\.ts$/ },
    handler: () => `const skill = ${JSON.stringify(builtSkill)};\nexport const readBuiltSkill = () => skill;`,
  },
};

/** Bundles the answer to `tools/list` as data, so that a start converts no schemas. */
const toolListAsData = {
  name: "built-tool-list",
  load: {
    filter: { id: /\/src\/server\/tool-list\.ts$/ },
    handler: () =>
      `const tools = ${JSON.stringify(buildToolList())};\nexport const buildToolList = () => tools;`,
  },
};

const { output } = await build({
  onLog(level, log, handle) {
    // Fail if a package is not installed, because it would be missing in the published code.
    if (log.code === "UNRESOLVED_IMPORT") throw new Error(log.message);
    handle(level, log);
  },
  input: {
    main: join(root, "src/main.ts"),
    sandbox: join(root, "src/commands/sandbox-entry.ts"),
    // This file is a separate entry, so that it is built into the same folder as the worker that it starts.
    "sandbox-service": join(root, "src/sandbox/sandbox.ts"),
    "plan-worker": join(root, "src/narration/planning/thread/plan-worker.ts"),
    "speech-worker": join(root, "src/sandbox/speech/worker.ts"),
  },
  platform: "node",
  resolve: { alias: { "@modelcontextprotocol/server/_shims": join(root, "scripts/sdk-without-ajv.ts") } },
  external,
  plugins: [builtPlayer, skillAsData, toolListAsData],
  transform: { target: "node22" },
  output: {
    dir: fresh,
    format: "esm",
    minify: true,
    entryFileNames: "[name].js",
    chunkFileNames: "chunks/[name]-[hash].js",
    banner: (chunk) => (chunk.name === "main" ? "#!/usr/bin/env node" : ""),
  },
});
const moduleIds = output.flatMap((part) =>
  part.type === "chunk"
    ? Object.entries(part.modules).flatMap(([id, { renderedLength }]) => (renderedLength > 0 ? [id] : []))
    : [],
);
await writeFile(join(fresh, "THIRD-PARTY-NOTICES.txt"), thirdPartyNotices(moduleIds, root));
await cp(join(root, "types"), fresh, { recursive: true });
// Write a package.json, so that `dist/` runs on its own. Without it, Node would take the code for CommonJS.
const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
await writeFile(join(fresh, "package.json"), `${JSON.stringify({ type: "module", version })}\n`);
await chmod(join(fresh, "main.js"), 0o755);

const old = `${fresh}-old`;
await mkdir(dist, { recursive: true });
await rename(dist, old);
await rename(fresh, dist);
await rm(old, { recursive: true, force: true });
