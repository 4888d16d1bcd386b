/** Owns what a bundle and the registry entry beside it must hold, and says where they are not of the files as they stand now. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { unzipSync } from "fflate";
import { z } from "zod";
import { bundleName } from "./publication.ts";

const serverSchema = z.looseObject({ packages: z.array(z.looseObject({ registryType: z.string() })) });

/** What is packed, from the root of the project. */
export const BUNDLE_PARTS = ["manifest.json", "LICENSE", "assets/icon.png", "dist"] as const;

/** What the plugins of other clients consist of: the archive that Gemini CLI installs from a release. */
export const PLUGIN_PARTS = [
  ".claude-plugin",
  ".codex-plugin",
  ".cursor-plugin",
  "gemini-extension.json",
  "skills",
  "assets/icon.png",
  "README.md",
  "LICENSE",
] as const;

/** Gemini CLI takes the file that begins with its platform's name, where a release has several files. */
export const pluginArchives = (name: string): string[] =>
  ["darwin", "linux", "win32"].map((platform) => `${platform}.${name}.tar.gz`);

/** Types are for programmers, who get them from npm. */
export const isBundled = (path: string): boolean => !path.endsWith(".d.ts");

export const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

/** The registry's entry with the sum of the bundle that it names. */
export function withSum(server: unknown, sum: string): Record<string, unknown> {
  const { packages, ...rest } = serverSchema.parse(server);
  const summed = packages.map((entry) =>
    entry.registryType === "mcpb" ? { ...entry, fileSha256: sum } : entry,
  );
  return { ...rest, packages: summed };
}

function filesOf(root: string, part: string): string[] {
  const path = join(root, part);
  if (!existsSync(path)) return [];
  if (!statSync(path).isDirectory()) return [part];
  return readdirSync(path, { recursive: true, encoding: "utf8" })
    .filter((name) => statSync(join(path, name)).isFile() && isBundled(name))
    .map((name) => `${part}/${name.replaceAll(sep, "/")}`);
}

/** The parts that differ between the archive and the files now. */
function staleParts(root: string, packed: ReadonlyMap<string, Uint8Array>): string[] {
  return BUNDLE_PARTS.filter((part) => {
    const now = filesOf(root, part);
    const then = [...packed.keys()].filter((name) => name === part || name.startsWith(`${part}/`));
    const isSame = (name: string): boolean => {
      const bytes = packed.get(name);
      return bytes !== undefined && readFileSync(join(root, name)).equals(bytes);
    };
    return now.length === 0 || then.length !== now.length || !now.every(isSame);
  });
}

const readText = (path: string): string => (existsSync(path) ? readFileSync(path, "utf8") : "");

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** @returns the files of an archive by their path; `null` where it is none, or cut short */
function packedFiles(archive: Buffer): Map<string, Uint8Array> | null {
  try {
    return new Map(Object.entries(unzipSync(archive)).filter(([path]) => !path.endsWith("/")));
  } catch {
    return null;
  }
}

/** @returns why the bundle in `root` may not go out, each with what mends it; empty when it is of the files as they stand */
export function bundleFaults(root: string, manifest: { name: string; version: string }): string[] {
  const name = bundleName(manifest);
  const path = join(root, "bundle", name);
  const entry = join(root, "bundle", "server.json");
  if (!existsSync(path) || !existsSync(entry)) return ["There is no bundle of this version: npm run bundle."];
  const absent = pluginArchives(manifest.name).filter((file) => !existsSync(join(root, "bundle", file)));
  if (absent.length > 0) return [`bundle/${absent.join(", bundle/")} is missing: npm run bundle.`];
  const archive = readFileSync(path);
  const packed = packedFiles(archive);
  if (packed === null) return ["The bundle cannot be read: npm run bundle."];
  const found = staleParts(root, packed).map(
    (part) => `The bundle holds another ${part} than the one there is now: npm run bundle.`,
  );
  const sum = sha256(archive);
  if (readText(`${path}.sha256`) !== `${sum}  ${name}\n`) {
    found.push("The bundle is not the one that its sum is of: npm run bundle.");
  }
  const wanted = withSum(parsed(readText(join(root, "server.json"))), sum);
  if (!isDeepStrictEqual(parsed(readText(entry)), wanted)) {
    found.push("bundle/server.json is not server.json with the bundle's sum: npm run bundle.");
  }
  return found;
}
