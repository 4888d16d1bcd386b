/**
 * Committed texts give their committed plans. A part whose boundary moves is paid for again, so a change to these plans
 * must increase the plan's version (docs/reference-narrations.md, Plan of a narration).
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";
import { NODE } from "../../support/bin-under-test.ts";
import { GOLDEN, goldenPlans, TEXTS } from "./golden-plans.ts";

it.each(TEXTS)("the plan of a committed text is unchanged: %s", async (name) => {
  const plans = `${JSON.stringify(goldenPlans(name), null, 2)}\n`;
  await expect(plans).toMatchFileSnapshot(join(GOLDEN, `${name}.plans.json`));
});

it("the plan of a committed text is the same in the Node that runs the bin, for any language of the system", () => {
  const script = join(import.meta.dirname, "golden-plans.ts");
  for (const language of ["C", "tr_TR.UTF-8", "ja_JP.UTF-8"]) {
    const env = { PATH: process.env["PATH"] ?? "", LANG: language, LC_ALL: language };
    const printed = execFileSync(NODE, [script], { encoding: "utf8", env, maxBuffer: 64 * 1024 * 1024 });
    expect(JSON.parse(printed)).toEqual(
      JSON.parse(JSON.stringify(TEXTS.map((name) => [name, goldenPlans(name)]))),
    );
  }
});
