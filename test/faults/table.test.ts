/** The table of faults names existing tests, so that a renamed or removed test is noticed. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const TESTS = join(import.meta.dirname, "..");
const table = readFileSync(join(import.meta.dirname, "README.md"), "utf8");
const rows = table
  .split("\n")
  .filter((line) => line.startsWith("| ") && !/^\| (Fault|What was seen) /.test(line));
const pointers = rows.map((row) => /\| `([\w./-]+)` "([^"]+)" \|$/.exec(row));

describe("the table of faults", () => {
  it("has a pointer in every row", () => {
    expect(rows.length).toBeGreaterThan(80);
    expect(rows.filter((_, index) => pointers[index] === null)).toEqual([]);
  });

  it("has as many cells in each row as in the head of its table, because a further cell would not be shown", () => {
    const widths = table
      .split("\n")
      .map((line) => (line.startsWith("|") ? line.replaceAll("\\|", "").split("|").length : 0));
    const uneven = widths.flatMap((width, index) =>
      width !== 0 && (widths[index - 1] ?? 0) !== 0 && widths[index - 1] !== width ? [index + 1] : [],
    );
    expect(uneven).toEqual([]);
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
