/** What models see of the tools: schemas as committed snapshots, annotations, words and their price. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { INSTRUCTIONS } from "../../src/server/instructions.ts";
import { REMEDIES } from "../../src/server/remedies.ts";
import { toolList } from "../../src/server/tool-list.ts";

const NAMES = ["generate_audio", "get_task", "download_audio", "list_voices", "list_tasks"];
const HINTS = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

describe("the tool list", () => {
  it("holds the five tools", () => {
    expect(toolList().map(({ name }) => name)).toEqual(NAMES);
  });

  it("costs at most 8,192 bytes", () => {
    expect(Buffer.byteLength(JSON.stringify(toolList()))).toBeLessThanOrEqual(8192);
  });

  it.each(toolList().map((tool) => [tool.name, tool] as const))(
    "publishes %s as its committed snapshot says",
    async (name, tool) => {
      await expect(`${JSON.stringify(tool, null, 2)}\n`).toMatchFileSnapshot(`snapshots/${name}.json`);
    },
  );

  it.each(toolList().map((tool) => [tool.name, tool] as const))("describes %s in full", (_name, tool) => {
    expect(tool.title).toBeTruthy();
    expect(tool.description?.length).toBeGreaterThan(40);
    expect(tool.description?.length).toBeLessThan(2048);
    expect(Object.keys(tool.annotations ?? {}).sort()).toEqual([...HINTS].sort());
    expect(tool.inputSchema).toMatchObject({ type: "object", additionalProperties: false });
    expect(tool.outputSchema).toMatchObject({ type: "object", additionalProperties: false });
    expect(JSON.stringify(tool)).not.toContain("$schema");
  });

  it.each(NAMES)("exercises %s end to end and tells users about it", (name) => {
    const folder = join(import.meta.dirname, "..", "e2e");
    const tests = readdirSync(folder).map((file) => readFileSync(join(folder, file), "utf8"));
    expect(tests.some((text) => text.includes(`driver.call("${name}"`) || text.includes(`"${name}",`))).toBe(
      true,
    );
    expect(readFileSync(join(import.meta.dirname, "..", "..", "README.md"), "utf8")).toContain(`\`${name}\``);
  });
});

describe("the instructions", () => {
  it("say first that repeating a call is safe, in under 1,200 characters", () => {
    expect(INSTRUCTIONS.length).toBeLessThan(1200);
    expect(INSTRUCTIONS.slice(0, 80)).toMatch(/^Repeating generate_audio with the same arguments/);
  });
});

describe("the remedies", () => {
  it("end every error with a step", () => {
    for (const remedy of Object.values(REMEDIES)) expect(remedy).toMatch(/^[A-Z].{20,}\.$/);
  });
});
