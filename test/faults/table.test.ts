/** The table of faults names existing tests, so that a renamed or removed test is noticed. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const TESTS = join(import.meta.dirname, "..");
const table = readFileSync(join(import.meta.dirname, "README.md"), "utf8");
const rows = table.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| Fault "));
const pointers = rows.map((row) => /\| `([\w./-]+)` "([^"]+)" \|$/.exec(row));

describe("the table of faults", () => {
  it("has a pointer in every row", () => {
    expect(rows.length).toBeGreaterThan(80);
    expect(rows.filter((_, index) => pointers[index] === null)).toEqual([]);
  });

  it("points at files and tests that exist", () => {
    const lost = pointers.flatMap((pointer) => {
      const [, file = "", name = ""] = pointer ?? [];
      const path = join(TESTS, file);
      const isThere = existsSync(path) && readFileSync(path, "utf8").includes(name);
      return isThere ? [] : [`${file} "${name}"`];
    });
    expect(lost).toEqual([]);
  });
});
