/** Defines the programs that the bench starts: our server, two references and a peer from npm. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "rolldown";
import { cachedTool } from "../scripts/cached-packages.ts";

export interface Program {
  readonly name: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const ROOT = join(import.meta.dirname, "..");
const REFERENCES = join(import.meta.dirname, "references");

export const OURS: Program = { name: "audio-generation-mcp", args: [join(ROOT, "dist", "main.js")] };

export const BARE_NODE: Program = { name: "bare Node", args: [join(REFERENCES, "bare-node.mjs")] };

/** Builds the minimal server as one minified file for Node 22, without Ajv, like our own build. */
export async function minimalServer(): Promise<Program> {
  const dir = join(ROOT, "node_modules", ".cache", "bench");
  await build({
    input: { main: join(REFERENCES, "minimal-server.ts") },
    platform: "node",
    resolve: { alias: { "@modelcontextprotocol/server/_shims": join(ROOT, "scripts/sdk-without-ajv.ts") } },
    transform: { target: "node22" },
    output: { dir, format: "esm", minify: true, entryFileNames: "[name].js" },
  });
  writeFileSync(join(dir, "package.json"), '{"type":"module"}');
  return { name: "minimal server on the same SDK", args: [join(dir, "main.js")] };
}

/**
 * Returns replicate-mcp, which starts fastest among replicate-mcp, tts-mcp and minimax-mcp-js; `null` if npm
 * cannot be reached.
 */
export function fastestPeer(): Program | null {
  try {
    const script = cachedTool("replicate");
    return { name: "replicate-mcp", args: [script], env: { REPLICATE_API_TOKEN: "dummy" } };
  } catch (error) {
    console.error(`The peer is left out: ${error instanceof Error ? error.message : error}`);
    return null;
  }
}
