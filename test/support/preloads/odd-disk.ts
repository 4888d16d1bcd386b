/** Preloaded into the server: everything below TEST_ODD_DISK takes case, accents' forms and dots at the end for one name, as Windows and macOS do. */
import fs from "node:fs";
import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";

const root = process.env["TEST_ODD_DISK"] ?? "";
const { readdirSync } = fs;

const withoutDots = (name: string): string => name.replace(/[. ]+$/, "");
const fold = (name: string): string => withoutDots(name).normalize("NFC").toLowerCase();

/** The path as the disk spells it: keeps how a name was written first, as these disks do. */
function spelled(path: string): string {
  if (!path.startsWith(`${root}/`)) return path;
  let known = root;
  for (const name of path.slice(root.length + 1).split("/")) {
    let names: string[] = [];
    try {
      names = readdirSync(known);
    } catch {
      // Not there yet.
    }
    known = join(known, names.find((each) => fold(each) === fold(name)) ?? withoutDots(name));
  }
  return known;
}

for (const owner of [promises, fs]) {
  for (const name of Object.keys(owner)) {
    const original: unknown = Reflect.get(owner, name);
    // What begins with a capital is a class.
    if (typeof original !== "function" || /^[A-Z_]/.test(name)) continue;
    const odd = function (this: unknown, ...args: unknown[]): unknown {
      const there = args.map((arg) => (typeof arg === "string" ? spelled(arg) : arg));
      return Reflect.apply(original, this, there);
    };
    Reflect.set(owner, name, Object.assign(odd, original));
  }
}
syncBuiltinESMExports();
