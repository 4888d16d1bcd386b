/** Words are respelled only in the sent text, and a changed rule alone never causes a payment. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { narrationOf, PART_BYTES } from "../narration/narrator.ts";
import { FAST } from "../support/bin-under-test.ts";
import { openFoldersEach, openServiceEach } from "../support/e2e-setup.ts";
import { startToolClient, type ToolClient } from "../support/tool-client.ts";
import { errorOf, generate, resultTextOf, taskOf } from "../support/tool-result.ts";

const service = openServiceEach({ audioBytes: PART_BYTES, audioSeconds: 4 });
const testFolders = openFoldersEach();
let client: ToolClient | undefined;
afterEach(() => client?.close());

/**
 * Starts a server in place of the current one. `rules` is the content of its pronunciation file; `null`: it has none.
 */
async function start(rules: string | null): Promise<ToolClient> {
  await client?.close();
  const path = join(testFolders.root, "pronunciations.json");
  if (rules !== null) await writeFile(path, rules);
  const more: Record<string, string> = rules === null ? {} : { AUDIO_PRONUNCIATIONS: path };
  client = await startToolClient(testFolders.env(service, { ...FAST, ...more }));
  return client;
}

const sent = (): unknown[] => [...service.tasks.values()].map(({ body }) => Object(JSON.parse(body)).prompt);
const SAID = { prompt: "Mr. Nguyen writes SQL.", output_format: "pcm" };

describe("generate_audio", () => {
  it("sends the spelling, reports it, and keeps the text in names and lists", async () => {
    const server = await start('{ "Nguyen": "Win", "sql": { "say": "sequel", "language": "en" } }');
    const createResult = await server.call("generate_audio", SAID);
    expect(sent()).toEqual(["Mr. Win writes sequel."]);
    expect(resultTextOf(createResult)).toContain("Respelled: Nguyen, sql.");
    expect(taskOf(createResult).message).toContain("Respelled: Nguyen, sql.");
    expect(taskOf(createResult).audio?.path).toContain("Nguyen");
    expect(resultTextOf(await server.call("list_tasks", { query: "Nguyen" }))).toContain("Mr. Nguyen writes");
  });

  it("returns the paid audio after the rules change, until another take is requested", async () => {
    const first = await generate(await start(null), SAID);
    const changed = await start('{ "Nguyen": "Win" }');
    const second = await changed.call("generate_audio", SAID);
    expect(taskOf(second)).toMatchObject({ task_id: first.task_id, replayed: true });
    expect(resultTextOf(second)).toMatch(/before its pronunciations changed.*take 2/);
    expect(service.tasks.size).toBe(1);
    const anew = await changed.call("generate_audio", { ...SAID, take: 2 });
    expect(sent()).toEqual([SAID.prompt, "Mr. Win writes SQL."]);
    const without = await (await start(null)).call("generate_audio", { ...SAID, take: 2 });
    expect(taskOf(without).task_id).toBe(taskOf(anew).task_id);
    expect(service.tasks.size).toBe(2);
  });

  it("accepts its own rules, which take precedence over those of the settings", async () => {
    const server = await start('{ "Nguyen": "Win" }');
    await server.call("generate_audio", { ...SAID, pronounce: ["Nguyen=Nwin", "SQL = sequel"] });
    expect(sent()).toEqual(["Mr. Nwin writes sequel."]);
  });

  it.each([
    ["no spelling", ["Nguyen="], /pronounce.*word=spelling/],
    ["no word", ["=Win"], /pronounce.*word=spelling/],
    ["a text that gets too long", [`SQL=${"x".repeat(190)}`], /becomes 2,\d{3} characters/],
  ])("refuses %s, before anything is sent", async (_, pronounce, words) => {
    const prompt = `${"word ".repeat(400)}SQL`;
    const refused = await (await start(null)).call("generate_audio", { prompt, pronounce });
    expect(errorOf(refused).code).toBe("invalid_request");
    expect(resultTextOf(refused)).toMatch(words);
    expect(service.exchanges).toEqual([]);
  });
});

describe("narrate", () => {
  const paragraph = (words: string): string =>
    `${words} ${"The river ran past the old mill and on to the sea. ".repeat(24)}`;
  const TEXT = { text: [paragraph("Nguyen came."), paragraph("Nobody else came.")].join("\n\n") };

  it("changes only the parts that contain a word, and the plan names what would be made again", async () => {
    const plain = await start(null);
    const call = { ...TEXT, output_format: "pcm", max_credits: 1000, wait_seconds: 20 };
    narrationOf(await plain.call("narrate", call));
    expect(service.tasks.size).toBe(2);
    const changed = await start('{ "Nguyen": "Win", "Zebra": "Zeb-ra" }');
    const planned = await changed.call("narrate", { ...TEXT, output_format: "pcm" });
    expect(resultTextOf(planned)).toMatch(
      /Respelled: Nguyen\..*1 part that is paid for was spoken with other/s,
    );
    expect(narrationOf(planned).parts).toMatchObject({ total: 2, saved: 1 });
    const done = narrationOf(await changed.call("narrate", call));
    expect(done).toMatchObject({ status: "finished", credits: { charged: 10 } });
    expect(sent().at(-1)).toMatch(/^Win came\./);
    expect(service.tasks.size).toBe(3);
  });
});

it.each([
  ["is not JSON", "{ Nguyen: Win", /is not JSON such as/],
  ["says nothing", '{ "Nguyen": " " }', /rule of "Nguyen" cannot be read/],
  ["names a language that no voice speaks", '{ "a": { "say": "b", "language": "xx" } }', /rule of "a"/],
  ["is too large", `{ "a": "${"b".repeat(70_000)}" }`, /larger than 64 KiB/],
  [
    "has too many rules",
    JSON.stringify(Object.fromEntries(Array.from({ length: 501 }, (_, n) => [`w${n}`, "x"]))),
    /501 rules/,
  ],
])("a file of rules that %s is a fault of the settings, and nothing is sent", async (_, rules, words) => {
  const refused = await (await start(rules)).call("generate_audio", SAID);
  expect(errorOf(refused).code).toBe("configuration_error");
  expect(resultTextOf(refused)).toMatch(words);
  expect(service.exchanges).toEqual([]);
});
