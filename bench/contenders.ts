/** Owns the programs that the bench starts: ours, the references and the peers from npm; measures nothing. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "rolldown";
import { z } from "zod";

export interface Program {
  readonly name: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** For messages between it and the bench. */
  readonly hasChannel?: boolean;
}

const root = join(import.meta.dirname, "..");
const cache = join(root, "node_modules", ".cache", "bench");

export const OURS: Program = { name: "audio-generation-mcp", args: [join(root, "dist", "main.js")] };

export const BARE_NODE: Program = {
  name: "bare Node",
  args: [join(import.meta.dirname, "references", "bare-node.mjs")],
};

/** Bundled with the very options of our own build, but for code splitting, which it has no use for. */
async function bundled(reference: string, name: string): Promise<Program> {
  const dir = join(cache, reference);
  await build({
    input: { main: join(import.meta.dirname, "references", `${reference}.ts`) },
    platform: "node",
    transform: { target: "node22" },
    output: { dir, format: "esm", minify: true, entryFileNames: "[name].js" },
  });
  writeFileSync(join(dir, "package.json"), '{"type":"module"}');
  return { name, args: [join(dir, "main.js")] };
}

export const minimalServer = (): Promise<Program> =>
  bundled("minimal-server", "minimal server on the same SDK");

export const verifyingServer = (): Promise<Program> =>
  bundled("verifying-server", "server on the same SDK that verifies one file");

const PEERS = [
  { package: "minimax-mcp-js", env: { MINIMAX_API_KEY: "dummy", MINIMAX_MCP_BASE_PATH: "/tmp" } },
  { package: "tts-mcp", env: { OPENAI_API_KEY: "dummy" } },
  { package: "replicate-mcp", env: { REPLICATE_API_TOKEN: "dummy" } },
] as const;

const peerManifest = z.object({ bin: z.union([z.string(), z.record(z.string(), z.string())]) });

/** The peers, installed from npm into a cache folder; none, with a word, when npm cannot reach them. */
export function peers(): Program[] {
  const dir = join(cache, "peers");
  try {
    if (!existsSync(join(dir, "node_modules"))) {
      mkdirSync(dir, { recursive: true });
      writeFileSync(join(dir, "package.json"), '{"private":true}');
      const names = PEERS.map((peer) => peer.package);
      const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
      execFileSync("npm", ["install", ...quiet, ...names], {
        cwd: dir,
        stdio: ["ignore", "ignore", "inherit"],
      });
    }
    return PEERS.flatMap((peer) => {
      const folder = join(dir, "node_modules", peer.package);
      const { bin } = peerManifest.parse(JSON.parse(readFileSync(join(folder, "package.json"), "utf8")));
      const bins = typeof bin === "string" ? { main: bin } : bin;
      const server = Object.keys(bins).find((name) => name.endsWith("server"));
      const script = bins[server ?? peer.package];
      return script === undefined
        ? []
        : [{ name: peer.package, args: [join(folder, script)], env: peer.env }];
    });
  } catch (error) {
    console.log(`Peers are left out: ${error instanceof Error ? error.message.split("\n")[0] : error}`);
    return [];
  }
}
