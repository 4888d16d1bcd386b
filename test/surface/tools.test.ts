/** The tools as models see them: schemas as committed snapshots, annotations, texts and their size. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/client/validators/ajv";
import { describe, expect, it } from "vitest";
import { sanitizeReason } from "../../src/api/service-text.ts";
import { readConfig } from "../../src/config/config.ts";
import { formatThousands } from "../../src/contract/numbers.ts";
import { FIELD_NAMES, requestField } from "../../src/contract/request-fields.ts";
import { VOICE_IDS } from "../../src/contract/voices.ts";
import { REMEDIES } from "../../src/remedies.ts";
import { renderInstructions } from "../../src/server/instructions.ts";
import { buildPromptList } from "../../src/server/prompts.ts";
import { buildToolList } from "../../src/server/tool-list.ts";
import { PLAYER_URI } from "../../src/tools/player-uri.ts";
import {
  MAX_SEEN_CHARACTERS,
  MAX_SINGLE_TASK_TOOLS_BYTES,
  MAX_TOOL_LIST_BYTES,
} from "../support/tool-list-ceilings.ts";
import { withoutPlayer } from "../support/without-player.ts";

const NAMES = ["generate_audio", "get_task", "download_audio", "list_voices", "list_tasks", "narrate"];
const HINTS = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

/**
 * Lists what Gemini does not accept in a JSON schema, although clients pass the schema on to it. Examples are a
 * constant (zed#44875), an enum of numbers (gemini-cli#4415), an object without named fields
 * (MarkusPfundstein/mcp-obsidian#21) and a choice of types. Every enum is listed.
 */
function refusedIn(schema: unknown, path = ""): string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const keys = new Map(Object.entries(schema));
  const isObject = keys.get("type") === "object";
  const refused = [
    ...[
      "const",
      "oneOf",
      "anyOf",
      "allOf",
      "propertyNames",
      "exclusiveMinimum",
      "exclusiveMaximum",
      "enum",
    ].filter((key) => keys.has(key)),
    ...(Array.isArray(keys.get("type")) ? ["type"] : []),
    ...(isObject && Object.keys(keys.get("properties") ?? {}).length === 0 ? ["object without fields"] : []),
  ];
  const fields = Object.entries(keys.get("properties") ?? {});
  return [
    ...refused.map((what) => `${path}: ${what}`),
    ...fields.flatMap(([name, field]) => refusedIn(field, `${path}.${name}`)),
    ...refusedIn(keys.get("items"), `${path}[]`),
  ];
}

describe("the tool list", () => {
  it("holds all tools, in this order", () => {
    expect(buildToolList().map(({ name }) => name)).toEqual(NAMES);
  });

  it("has the ceilings that the reference states", () => {
    const reference = readFileSync(join(import.meta.dirname, "..", "..", "docs", "reference.md"), "utf8");
    for (const bytes of [MAX_SINGLE_TASK_TOOLS_BYTES, MAX_TOOL_LIST_BYTES])
      expect(reference).toMatch(new RegExp(`at most ${formatThousands(bytes)}\\b`));
  });

  it.each(NAMES)("has a row in the reference, and a name that the service's texts cannot use: %s", (name) => {
    const reference = readFileSync(join(import.meta.dirname, "..", "..", "docs", "reference.md"), "utf8");
    expect(reference).toContain(`| \`${name}\` |`);
    expect(sanitizeReason(`Please call ${name} again.`)).toBe("");
  });

  const sizeOf = (tools: readonly unknown[]): number => Buffer.byteLength(JSON.stringify(tools));

  it("stays below its ceilings, without what models never see", () => {
    const shown = withoutPlayer(buildToolList());
    expect(sizeOf(shown.filter(({ name }) => name !== "narrate"))).toBeLessThanOrEqual(
      MAX_SINGLE_TASK_TOOLS_BYTES,
    );
    expect(sizeOf(shown)).toBeLessThanOrEqual(MAX_TOOL_LIST_BYTES);
  });

  it("costs a model at most 8,000 characters with the instructions", () => {
    const seen = buildToolList().map(({ name, description, inputSchema }) => ({
      name,
      description,
      inputSchema,
    }));
    const outputDir = "/home/someone/audio-generation";
    const serviceAccess = { baseUrl: "https://a.example", apiKey: "k" };
    const instructions = renderInstructions({ issues: [], serviceAccess, outputDir });
    expect(JSON.stringify(seen).length + instructions.length).toBeLessThanOrEqual(MAX_SEEN_CHARACTERS);
  });

  it("points to the player in both spellings, with at most 300 bytes for the two tools of single tasks", () => {
    const pointing = buildToolList().filter(({ _meta }) => _meta?.["ui/resourceUri"] !== undefined);
    expect(pointing.map(({ name }) => name)).toEqual(["generate_audio", "download_audio", "narrate"]);
    for (const { _meta } of pointing) {
      expect(_meta).toMatchObject({ ui: { resourceUri: PLAYER_URI }, "ui/resourceUri": PLAYER_URI });
    }
    const single = pointing.filter(({ name }) => name !== "narrate");
    expect(sizeOf(single) - sizeOf(withoutPlayer(single))).toBeLessThanOrEqual(300);
  });

  it.each(buildToolList().map((tool) => [tool.name, tool] as const))(
    "publishes %s as its committed snapshot says",
    async (name, tool) => {
      await expect(`${JSON.stringify(tool, null, 2)}\n`).toMatchFileSnapshot(`snapshots/${name}.json`);
    },
  );

  it.each(buildToolList().map((tool) => [tool.name, tool] as const))("describes %s fully", (_name, tool) => {
    expect(tool.title).toBeTruthy();
    expect(tool.description?.length).toBeGreaterThan(40);
    expect(tool.description?.length).toBeLessThan(2048);
    expect(Object.keys(tool.annotations ?? {}).sort()).toEqual([...HINTS, "title"].sort());
    expect(tool.annotations?.title).toBe(tool.title);
    expect([tool.inputSchema.type, tool.outputSchema?.["type"]]).toEqual(["object", "object"]);
    expect(JSON.stringify(tool)).not.toContain("$schema");
  });

  it.each(buildToolList().map((tool) => [tool.name, tool] as const))(
    "gives %s no schema for which a provider refuses the whole request",
    (_name, { inputSchema }) => {
      expect(refusedIn(inputSchema)).toEqual([]);
    },
  );

  it.each(buildToolList().map((tool) => [tool.name, tool] as const))(
    "gives %s no instruction, because directories of clients refuse such descriptions",
    (_name, tool) => {
      expect(JSON.stringify(tool)).not.toMatch(
        /\b(?:only when|ask the user|tell the user|you must|always)\b/i,
      );
    },
  );

  it("is found by the words that people use to search for tools", () => {
    const found = (word: string): string[] =>
      buildToolList().flatMap(({ name, description = "" }) =>
        description.toLowerCase().includes(word) ? [name] : [],
      );
    expect(found("tts")).toEqual(["generate_audio"]);
    expect(found("text to speech")).toEqual(["generate_audio"]);
    expect(found("narration")).toContain("narrate");
  });

  it.each([
    ["generate_audio", { prompt: "x".repeat(3000) }],
    ["generate_audio", { prompt: "x", voice: "sofia", output_format: "flac", sample_rate: 22_050 }],
    ["generate_audio", { prompt: "x", speed: 9, pitch: 0.5, take: 0, wait_seconds: -1, tempo: 2 }],
    ["generate_audio", { prompt: "x", image_url: "ftp://a", audio_references: ["a", "b", "c", "d"] }],
    ["get_task", { task_id: "", wait_seconds: 9999 }],
    ["download_audio", { task_id: "x", deliver: "mail" }],
    ["list_voices", { language: "English", query: "x".repeat(300) }],
    ["list_tasks", { status: "done", limit: 0 }],
    ["narrate", { text: "x", files: "two", max_credits: -1, pause_seconds: 99, retakes: [], colour: "red" }],
  ])("publishes a schema of %s that accepts what we refuse with a better message: %j", (name, args) => {
    const schema = buildToolList().find((tool) => tool.name === name)?.inputSchema;
    if (schema === undefined) throw new Error(`no tool ${name}`);
    // Validate with a copy, because the two packages declare optional members differently.
    const validate = new AjvJsonSchemaValidator().getValidator(JSON.parse(JSON.stringify(schema)));
    expect(validate(args)).toMatchObject({ valid: true });
  });

  it.each(NAMES)("exercises %s end to end and documents it", (name) => {
    const folder = join(import.meta.dirname, "..", "e2e");
    const tests = readdirSync(folder).map((file) => readFileSync(join(folder, file), "utf8"));
    expect(tests.some((text) => text.includes(`client.call("${name}"`) || text.includes(`"${name}",`))).toBe(
      true,
    );
    expect(readFileSync(join(import.meta.dirname, "..", "..", "README.md"), "utf8")).toContain(`\`${name}\``);
  });
});

describe("the README", () => {
  const readme = readFileSync(join(import.meta.dirname, "..", "..", "README.md"), "utf8");

  it.each(NAMES)("has %s in its table of tools", (name) => {
    expect(readme).toMatch(new RegExp(`^\\| \`${name}\` \\| `, "m"));
  });

  it("lists every option of generate_audio", () => {
    const tool = buildToolList().find(({ name }) => name === "generate_audio");
    const [, row = ""] = /^\| `generate_audio` \| (.*)$/m.exec(readme) ?? [];
    const named = [...row.matchAll(/`(\w+)`/g)].map(([, name]) => name);
    const options = Object.keys(tool?.inputSchema.properties ?? {}).filter((name) => name !== "prompt");
    expect(options.filter((name) => !named.includes(name))).toEqual([]);
  });

  it("names the prompts, and no others", () => {
    const [, list = ""] = /menu of prompts show \w+: ([^.]+)\./.exec(readme) ?? [];
    expect([...list.matchAll(/`(\w+)`/g)].map(([, name]) => name)).toEqual(
      buildPromptList().map(({ name }) => name),
    );
  });
});

describe("docs/contract.md", () => {
  it("lists every voice, and no others", () => {
    const [, section = ""] = /^## Voices$(.*?)^## /ms.exec(contract) ?? [];
    const ids = [...section.matchAll(/`(\w+)`/g)].map(([, id]) => id);
    expect(ids.sort()).toEqual([...VOICE_IDS].sort());
  });

  const contract = readFileSync(join(import.meta.dirname, "..", "..", "docs", "contract.md"), "utf8");
  const [, section = ""] = /^## AudioInput$(.*?)^## /ms.exec(contract) ?? [];
  const rows = [...section.matchAll(/^\| `(\w+)` \|.* \| (.+) \|$/gm)].map(([, name, absent]) => [
    name,
    absent,
  ]);

  it("has exactly one row for every request field", () => {
    expect(rows.map(([name]) => name).sort()).toEqual([...FIELD_NAMES].sort());
  });

  it("states the defaults used in idempotency keys", () => {
    const stated = new Map(rows.map(([name, absent]) => [name, absent?.replaceAll("`", "")]));
    for (const name of FIELD_NAMES) {
      const { canonicalDefault } = requestField(name);
      const words = Array.isArray(canonicalDefault) ? "empty" : String(canonicalDefault);
      if (canonicalDefault !== undefined) expect([name, stated.get(name)]).toEqual([name, words]);
    }
  });
});

describe("the instructions", () => {
  const ready = {
    issues: [],
    serviceAccess: { baseUrl: "https://a.example", apiKey: "k" },
  };
  const long = `/${"a long folder name/".repeat(40)}end`;

  it("say first that the same call never pays twice, and have at most 1,200 characters", () => {
    const text = renderInstructions({ ...ready, outputDir: "/home/me/audio-generation" });
    expect(text.length).toBeLessThanOrEqual(1200);
    expect(text).toMatch(/^The same call never pays twice/);
    expect(text).toContain("/home/me/audio-generation (setting AUDIO_OUTPUT_DIR)");
  });

  it.each([false, true])("stay as short with a folder whose path is long, and keep its end", (isSandbox) => {
    const text = renderInstructions({ ...ready, outputDir: long, isSandbox });
    expect(text.length).toBeLessThanOrEqual(1200);
    expect(text).toContain("/end (setting");
  });

  it("say at the beginning that the settings are missing", () => {
    const { issues } = readConfig({});
    const text = renderInstructions({ issues, serviceAccess: null, outputDir: "/out" });
    expect(text).toMatch(/^NOT SET UP YET: the user must set AUDIO_BASE_URL, AUDIO_API_KEY in/);
    expect(text.length).toBeLessThanOrEqual(1200);
  });
});

it("the remedies end every error with a step", () => {
  for (const remedy of Object.values(REMEDIES).flatMap((each) => Object.values(each)))
    expect(remedy).toMatch(/^[A-Z].{20,}\.$/);
});
