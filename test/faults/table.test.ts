/** Each fault in the tables has a test. `surface/citations.test.ts` checks that the tests exist. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const table = readFileSync(join(import.meta.dirname, "README.md"), "utf8");
const rows = table
  .split("\n")
  .filter((line) => line.startsWith("| ") && !/^\| (Fault|What was seen) /.test(line));
/** Matches the last cell of a row: a file, and one or several titles of its tests. */
const CITED_TESTS = /\| `[\w./-]+\.ts` "[^"]+"(?:, "[^"]+")* \|$/;

it("the table of faults cites a test in every row", () => {
  expect(rows.length).toBeGreaterThan(80);
  expect(rows.filter((row) => !CITED_TESTS.test(row))).toEqual([]);
});

it("the table of faults has as many cells in each row as in the head of its table, because a further cell would not be shown", () => {
  const widths = table
    .split("\n")
    .map((line) => (line.startsWith("|") ? line.replaceAll("\\|", "").split("|").length : 0));
  const uneven = widths.flatMap((width, index) =>
    width !== 0 && (widths[index - 1] ?? 0) !== 0 && widths[index - 1] !== width ? [index + 1] : [],
  );
  expect(uneven).toEqual([]);
});
