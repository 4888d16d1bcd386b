/** Builds `dist/`: the bin and its chunks, everything the server needs inside; the sandbox's packages stay outside as optional peers. */
import { chmod, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "rolldown";
import { SANDBOX_PACKAGES } from "../src/commands/sandbox-loader.ts";

const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");
const external = [/^node:/, ...SANDBOX_PACKAGES.flatMap((name) => [name, new RegExp(`^${name}/`)])];

await rm(dist, { recursive: true, force: true });
await build({
  input: {
    main: join(root, "src/main.ts"),
    sandbox: join(root, "src/sandbox/sandbox.ts"),
    "speech-worker": join(root, "src/sandbox/speech/worker.ts"),
  },
  platform: "node",
  external,
  transform: { target: "node22" },
  output: {
    dir: dist,
    format: "esm",
    minify: true,
    entryFileNames: "[name].js",
    chunkFileNames: "chunks/[name]-[hash].js",
    banner: (chunk) => (chunk.name === "main" ? "#!/usr/bin/env node" : ""),
  },
});
// So that `dist/` runs anywhere alone: without it Node would take the files for CommonJS.
const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
await writeFile(join(dist, "package.json"), `${JSON.stringify({ type: "module", version })}\n`);
await chmod(join(dist, "main.js"), 0o755);
