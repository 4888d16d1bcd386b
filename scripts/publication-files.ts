/** Reads and writes the files of a publication, in the root of the project. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import {
  fillIn,
  JSON_FILES,
  type Publication,
  type Publisher,
  publisherSchema,
  TEXT_FILES,
} from "./publication.ts";

export const ROOT = join(import.meta.dirname, "..");

const readText = (root: string, name: string): string => {
  const path = join(root, name);
  return existsSync(path) ? readFileSync(path, "utf8") : "";
};

export function readJson(name: string, root = ROOT): Record<string, unknown> {
  return z.record(z.string(), z.unknown()).parse(JSON.parse(readText(root, name) || "{}"));
}

export function readPublisher(root = ROOT): Publisher {
  return publisherSchema.parse(readJson("publisher.json", root));
}

/** Reads the files of a publication. A missing file counts as empty, so that it is reported as out of step. */
export function readPublication(root = ROOT): Publication {
  const read = <K extends string, V>(names: readonly K[], of: (name: K) => V) =>
    Object.fromEntries(names.map((name) => [name, of(name)])) as Record<K, V>;
  return {
    json: read(JSON_FILES, (name) => readJson(name, root)),
    texts: read(TEXT_FILES, (name) => readText(root, name)),
  };
}

/** Returns the files to write, with their new text by name. */
function changes(root: string): Map<string, string> {
  const found = readPublication(root);
  const wanted = fillIn(found, readPublisher(root));
  const json = JSON_FILES.filter((name) => !isDeepStrictEqual(found.json[name], wanted.json[name])).map(
    (name) => [name, `${JSON.stringify(wanted.json[name], null, 2)}\n`] as const,
  );
  const texts = TEXT_FILES.filter((name) => found.texts[name] !== wanted.texts[name]).map(
    (name) => [name, wanted.texts[name]] as const,
  );
  return new Map([...json, ...texts]);
}

/**
 * Returns the names of the files that differ from what `publisher.json` and the version in package.json require.
 */
export const filesOutOfStep = (root = ROOT): string[] => [...changes(root).keys()];

/** Writes only the files that {@link filesOutOfStep} names. */
export function updatePublicationFiles(): string[] {
  const behind = changes(ROOT);
  for (const [name, text] of behind) {
    mkdirSync(dirname(join(ROOT, name)), { recursive: true });
    writeFileSync(join(ROOT, name), text);
  }
  return [...behind.keys()];
}
