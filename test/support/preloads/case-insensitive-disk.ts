/**
 * Preloaded into the server: below TEST_CASE_INSENSITIVE_DISK, names are equal if they differ only in case, in the
 * Unicode form of accents, or in dots and spaces at the end. Windows and macOS have such disks.
 */
import fs from "node:fs";
import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";

const root = process.env["TEST_CASE_INSENSITIVE_DISK"] ?? "";
const { readdirSync } = fs;

const withoutDots = (name: string): string => name.replace(/[. ]+$/, "");
const fold = (name: string): string => withoutDots(name).normalize("NFC").toLowerCase();

/** Returns the path as the disk spells it. Such a disk keeps the spelling with which a name was created. */
function spelled(path: string): string {
  if (!path.startsWith(`${root}/`)) return path;
  let known = root;
  for (const name of path.slice(root.length + 1).split("/")) {
    let names: string[] = [];
    try {
      names = readdirSync(known);
    } catch {
      // The folder does not exist yet.
    }
    known = join(known, names.find((each) => fold(each) === fold(name)) ?? withoutDots(name));
  }
  return known;
}

for (const owner of [promises, fs]) {
  for (const name of Object.keys(owner)) {
    const original: unknown = Reflect.get(owner, name);
    // Names that begin with a capital are classes.
    if (typeof original !== "function" || /^[A-Z_]/.test(name)) continue;
    const callWithMappedPaths = function (this: unknown, ...args: unknown[]): unknown {
      const there = args.map((arg) => (typeof arg === "string" ? spelled(arg) : arg));
      return Reflect.apply(original, this, there);
    };
    Reflect.set(owner, name, Object.assign(callWithMappedPaths, original));
  }
}
syncBuiltinESMExports();
