/**
 * Defines what a bundle and its registry entry must contain, and reports where they differ from the present files.
 */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { unzipSync } from "fflate";
import { z } from "zod";
import { bundleName } from "./publication.ts";

const serverSchema = z.looseObject({ packages: z.array(z.looseObject({ registryType: z.string() })) });

/** The files and folders in the bundle, relative to the project's root. */
export const BUNDLE_PARTS = ["manifest.json", "LICENSE", "assets/icon.png", "dist"] as const;

/** The files and folders in each plugin archive. Gemini CLI installs such an archive from a release. */
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

/**
 * Returns the names of the plugin archives, one for each platform. If a release has several files, Gemini CLI
 * takes the one that starts with its platform's name.
 */
export const pluginArchives = (name: string): string[] =>
  ["darwin", "linux", "win32"].map((platform) => `${platform}.${name}.tar.gz`);

/** Returns whether a file belongs in the bundle. Type declarations do not, because programmers get them from npm. */
export const isBundled = (path: string): boolean => !path.endsWith(".d.ts");

export const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

/** Adds the bundle's SHA-256 to the registry entry that names the bundle. */
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

/** Returns the members of {@link BUNDLE_PARTS} that are missing in `root`, or differ from the archive. */
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

/** Returns the files of an archive by path; `null` if it is not an archive, or incomplete. */
function packedFiles(archive: Buffer): Map<string, Uint8Array> | null {
  try {
    return new Map(Object.entries(unzipSync(archive)).filter(([path]) => !path.endsWith("/")));
  } catch {
    return null;
  }
}

/**
 * Returns why the bundle in `root` must not be published, each reason with its fix; empty if it matches the
 * present files.
 */
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
