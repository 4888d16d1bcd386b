/** Measures planning a text of 500,000 characters, beside the Markdown library alone, each as the first work of a process. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { compare, type Row, report } from "./measure.ts";

const ROUNDS = 11;
const CHARACTERS = 500_000;

function takes(work: "plain" | "markdown" | "library"): number {
  const script = join(import.meta.dirname, "plan-once.ts");
  return Number(execFileSync(process.execPath, [script, String(CHARACTERS), work], { encoding: "utf8" }));
}

const rows: Row[] = [];
for (const format of ["plain", "markdown"] as const) {
  const times = await compare(
    ROUNDS,
    () => takes(format),
    () => takes("library"),
  );
  rows.push({
    name: `${CHARACTERS.toLocaleString("en")} characters, ${format}`,
    unit: "ms",
    comparedWith: "marked reading the same text",
    ...times,
    goal: { of: "ours", atMost: 100 },
  });
}
report(rows);
