/** The texts with committed plans. Run as a script, this file prints the plans, so that another Node can make them. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { planText } from "../../../src/narration/text/plan-text.ts";
import type { NarrationPlan, PlanRequest } from "../../../src/narration/text/plan-types.ts";

export const GOLDEN = join(import.meta.dirname, "golden");
const ALICE = join(import.meta.dirname, "..", "..", "..", "assets", "alice-chapter-1.md");

const VOICES: PlanRequest["speakers"] = { Anna: "sophie_en_zh", Ben: "kian_en_zh", Dora: "felix_zh" };

/** The names of the texts, with their extensions. */
export const TEXTS: readonly string[] = ["alice.md", ...readdirSync(GOLDEN)].filter((name) =>
  /\.(?:md|txt)$/.test(name),
);

/** Returns a text's plans: at normal speed, and at half the speed, at which a part contains half as much text. */
export function goldenPlans(name: string): Record<string, NarrationPlan> {
  const text = readFileSync(name === "alice.md" ? ALICE : join(GOLDEN, name), "utf8");
  const request = { text, format: name.endsWith(".md") ? "markdown" : "plain", pauseSeconds: 0.6 } as const;
  const voices = name === "dialogue.md" ? VOICES : undefined;
  return {
    usual: planText({ ...request, speakers: voices, speed: 1 }),
    slow: planText({ ...request, speakers: voices, speed: 0.5 }),
  };
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  process.stdout.write(JSON.stringify(TEXTS.map((name) => [name, goldenPlans(name)])));
}
