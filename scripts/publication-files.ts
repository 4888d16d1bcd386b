/** Owns reading and writing the files that a publication consists of, in the root of the project. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { fillIn, type Publication, type Publisher, publisherSchema } from "./publication.ts";

export const ROOT = join(import.meta.dirname, "..");

const FILES = { package: "package.json", manifest: "manifest.json", server: "server.json" } as const;

export function readJson(name: string): Record<string, unknown> {
  return z.record(z.string(), z.unknown()).parse(JSON.parse(readFileSync(join(ROOT, name), "utf8")));
}

export function readPublisher(): Publisher {
  return publisherSchema.parse(readJson("publisher.json"));
}

function readPublication(): Publication {
  const { package: manifest, manifest: bundle, server } = FILES;
  return { package: readJson(manifest), manifest: readJson(bundle), server: readJson(server) };
}

/** @returns the names of the files that are not as `publisher.json` and the version in package.json want them */
export function filesOutOfStep(): string[] {
  const found = readPublication();
  const wanted = fillIn(found, readPublisher());
  const parts = ["package", "manifest", "server"] as const;
  return parts.filter((part) => !isDeepStrictEqual(found[part], wanted[part])).map((part) => FILES[part]);
}

/** Writes what {@link filesOutOfStep} names, and only that. */
export function bringIntoStep(): string[] {
  const behind = filesOutOfStep();
  const wanted = fillIn(readPublication(), readPublisher());
  for (const part of ["package", "manifest", "server"] as const) {
    if (!behind.includes(FILES[part])) continue;
    writeFileSync(join(ROOT, FILES[part]), `${JSON.stringify(wanted[part], null, 2)}\n`);
  }
  return behind;
}
