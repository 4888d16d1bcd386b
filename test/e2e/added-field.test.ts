/** A new request field needs only one entry in the table of request fields, and keeps existing idempotency keys. */
import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { buildText, narrationOf, PART_BYTES } from "../narration/narrator.ts";
import { FAST } from "../support/bin-under-test.ts";
import { FakeService } from "../support/fake-service.ts";
import { createTestFolders, type TestFolders } from "../support/test-folders.ts";
import { startCommandClient, type ToolClient } from "../support/tool-client.ts";
import { generate, resultTextOf } from "../support/tool-result.ts";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "..", "..");

/** The entries of two new fields. They are inserted before the entry `model`. */
const ENTRIES = `
  style: { schema: z.string("must be a string").max(20, "must be at most 20 characters").describe("The manner") },
  seed: { schema: boundedIntegerSchema(0, 99).describe("0 to 99"), tools: ["generate_audio"] },
  model: {`;

const GOLDEN = { prompt: "Good morning.\n", voice: "sophie_en_zh", speed: 1.25 };
const GOLDEN_KEY = "agm1-ff7acbae7c10f8eedafdedef560de678423f254eae19631da5c4d1cf26b3e4d9";
/** Requests that together have every field of the service, except the added ones. */
const REQUESTS: ReadonlyArray<Record<string, unknown>> = [
  GOLDEN,
  { prompt: "Plain" },
  { prompt: "References", audio_references: ["https://example.com/a"], model: "audio-1.0" },
  { prompt: "An image", image_url: "https://example.com/a" },
  { prompt: "The rest", output_format: "wav", sample_rate: 8000, volume: 2, pitch: -3, multilingual: true },
];
const NEW: ReadonlyArray<Record<string, unknown>> = [
  { style: "calm" },
  { seed: 7 },
  { style: "calm", seed: 7 },
];

let program: string;
let service: FakeService;
let testFolders: TestFolders;
let client: ToolClient;
/** A client of the unchanged program. Both programs use the same ledger. */
let older: ToolClient;

const start = (src: string): Promise<ToolClient> =>
  startCommandClient({
    command: process.execPath,
    args: [join(src, "main.ts")],
    env: testFolders.env(service, FAST),
  });

beforeAll(async () => {
  program = await mkdtemp(join(tmpdir(), "added-field-"));
  await cp(join(ROOT, "src"), join(program, "src"), { recursive: true });
  for (const name of ["package.json", "server.json", "tsconfig.json"])
    await cp(join(ROOT, name), join(program, name));
  await symlink(join(ROOT, "node_modules"), join(program, "node_modules"));
  const table = join(program, "src", "contract", "request-fields.ts");
  const text = await readFile(table, "utf8");
  expect(text.split("\n  model: {")).toHaveLength(2);
  await writeFile(table, text.replace("\n  model: {", ENTRIES));
  service = await FakeService.start({ audioBytes: PART_BYTES, audioSeconds: 4 });
  testFolders = await createTestFolders();
  client = await start(join(program, "src"));
  older = await start(join(ROOT, "src"));
});
afterAll(async () => {
  await Promise.all([client.close(), older.close()]);
  await service.stop();
  await testFolders.remove();
  await rm(program, { recursive: true });
});

/** Returns the request bodies that the service received during an action. */
async function bodiesOf(done: () => Promise<unknown>): Promise<Array<Record<string, unknown>>> {
  const before = service.tasks.size;
  await done();
  return [...service.tasks.values()]
    .slice(before)
    .map(({ body }) => z.record(z.string(), z.unknown()).parse(JSON.parse(body)));
}

/** Returns the idempotency keys that the sources in the folder `src` derive for first attempts. */
async function keysOf(src: string, inputs: readonly unknown[]): Promise<string[]> {
  const moduleOf = (path: string): string => JSON.stringify(pathToFileURL(join(src, path)));
  const script = `
    import { canonicalizeInput } from ${moduleOf("requests/canonical-input.ts")};
    import { deriveIdempotencyKey } from ${moduleOf("ledger/identity.ts")};
    const keys = ${JSON.stringify(inputs)}.map((input) => deriveIdempotencyKey(canonicalizeInput(input), 1, 1));
    process.stdout.write(JSON.stringify(keys));`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", script]);
  return z.array(z.string()).parse(JSON.parse(stdout));
}

describe("an entry added to the table of request fields", () => {
  it("needs no other change of the sources", async () => {
    await writeFile(
      join(program, "tsconfig.src.json"),
      JSON.stringify({ extends: "./tsconfig.json", include: ["src"], exclude: ["src/player"] }),
    );
    const tsc = join(ROOT, "node_modules", "typescript", "bin", "tsc");
    const checked = run(process.execPath, [
      tsc,
      "--singleThreaded",
      "--project",
      join(program, "tsconfig.src.json"),
    ]);
    expect(await checked.catch(({ stdout }) => stdout)).toMatchObject({ stdout: "" });
  }, 120_000);

  it("leaves the key of a request without it unchanged, and changes the key of a request with it", async () => {
    const keys = await keysOf(join(program, "src"), REQUESTS);
    expect(keys).toEqual(await keysOf(join(ROOT, "src"), REQUESTS));
    expect(keys[0]).toBe(GOLDEN_KEY);
    const more = REQUESTS.flatMap((request) => NEW.map((fields) => ({ ...request, ...fields })));
    const all = [...keys, ...(await keysOf(join(program, "src"), more))];
    expect(new Set(all).size).toBe(REQUESTS.length * (1 + NEW.length));
  });

  it("is sent only with the task that it is given for", async () => {
    const ask = async (more: object): Promise<unknown> => await generate(client, { ...GOLDEN, ...more });
    expect(await bodiesOf(() => ask({ style: "calm", seed: 7 }))).toMatchObject([{ style: "calm", seed: 7 }]);
    const [plain] = await bodiesOf(() => ask({}));
    expect(plain).not.toHaveProperty("style");
    expect(plain).not.toHaveProperty("seed");
    expect([...service.byKey.keys()]).toContain(GOLDEN_KEY);
    expect(await bodiesOf(() => ask({ style: "calm", seed: 7 }))).toEqual([]);
  });

  it("is stored with a narration's plan, and sent with each part", async () => {
    const text = buildText("One", "Two");
    const call = { text, output_format: "pcm" };
    const plain = narrationOf(await older.call("narrate", call));
    expect(narrationOf(await client.call("narrate", call)).narration_id).toBe(plain.narration_id);
    const styled = narrationOf(await client.call("narrate", { ...call, style: "calm" }));
    expect(styled.narration_id).not.toBe(plain.narration_id);
    const go = { narration_id: styled.narration_id, max_credits: 450 };
    const refused = await bodiesOf(async () => {
      expect(resultTextOf(await older.call("narrate", go))).toContain(
        "written by a newer version of this server",
      );
    });
    expect(refused).toEqual([]);
    await client.close();
    client = await start(join(program, "src"));
    const parts = await bodiesOf(async () => {
      expect(narrationOf(await client.call("narrate", go)).status).toBe("finished");
    });
    expect(parts).toHaveLength(2);
    for (const part of parts) expect(part).toMatchObject({ style: "calm", output_format: "pcm" });
  });
});
