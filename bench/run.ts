/** Runs the named scripts of the bench, or all of them, and prints one table: `npm run bench [-- PART …]`. */
import { execFileSync } from "node:child_process";
import { cpus } from "node:os";
import { join } from "node:path";
import { type Row, rowsSchema } from "./measure.ts";

const PARTS = ["start", "download", "replay", "growth", "makespan", "joining", "planning", "memory"];
const WIDTHS = [60, 8, 44, 6, 24];

const wanted = process.argv.slice(2);
const unknown = wanted.filter((part) => !PARTS.includes(part));
if (unknown.length > 0) {
  console.error(`There is no ${unknown.join(", ")}; the parts are ${PARTS.join(", ")}.`);
  process.exit(2);
}

function printLine(cells: readonly string[]): void {
  console.log(`| ${cells.map((cell, index) => cell.padEnd(WIDTHS[index] ?? 0)).join(" | ")} |`);
}

function withUnit(value: number, unit: Row["unit"]): string {
  return `${value.toFixed(value < 10 ? 2 : 0)} ${unit}`;
}

function goalCell({ goal, ours, reference, unit }: Row): string {
  if (goal === undefined) return "";
  const { of, atMost } = goal;
  const values = { ratio: ours / reference, difference: ours - reference, ours };
  const texts = {
    ratio: `ratio at most ${atMost}`,
    difference: `at most ${atMost} ${unit} more`,
    ours: `at most ${atMost} ${unit}`,
  };
  return `${texts[of]} ${values[of] <= atMost ? "✓" : "✗"}`;
}

console.log(
  `${cpus().length} cores, ${cpus()[0]?.model}, ${process.platform}, Node ${process.versions.node}\n`,
);
printLine(["row", "ours", "compared with", "ratio", "goal"]);
printLine(WIDTHS.map((width) => "-".repeat(width)));
for (const part of PARTS.filter((name) => wanted.length === 0 || wanted.includes(name))) {
  try {
    // Run each script in a separate process, so that the process that starts the measured programs stays small. A large
    // process starts others more slowly. On Linux, the others also inherit its peak memory.
    const output = execFileSync(process.execPath, [join(import.meta.dirname, `${part}.ts`)], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    });
    for (const row of rowsSchema.parse(JSON.parse(output))) {
      const { name, unit, ours, comparedWith, reference } = row;
      printLine([
        `${part}: ${name}`,
        withUnit(ours, unit),
        `${comparedWith}: ${withUnit(reference, unit)}`,
        (ours / reference).toFixed(2),
        goalCell(row),
      ]);
    }
  } catch (error) {
    console.error(`${part} failed: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  }
}
