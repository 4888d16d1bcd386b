/** Starts the packed sandbox package as a person without an account does: by npx from a registry, in an empty home. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { NODE } from "../support/bin-under-test.ts";
import { type LoopbackRegistry, startRegistry } from "../support/loopback-registry.ts";
import { createTestFolders } from "../support/test-folders.ts";
import { startCommandClient } from "../support/tool-client.ts";

const ROOT = join(import.meta.dirname, "..", "..");

let folder = "";
let registry: LoopbackRegistry;
let env: Record<string, string> = {};

/** Returns an npx command that runs in the home folder, because npx prefers packages in the current folder. */
const npx = (words: string, settings: Record<string, string>) => ({
  command: "/bin/sh",
  args: ["-c", `cd "$HOME" && exec npx -y ${words}`],
  env: { ...settings, ...env },
});

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "agm-npx-"));
  const [packed, home] = [join(folder, "packed"), join(folder, "home")];
  for (const each of [packed, home]) await mkdir(each);
  registry = await startRegistry(ROOT, packed);
  const settings = [`registry=${registry.url}`, "audit=false", "fund=false", "update-notifier=false"];
  await writeFile(join(home, ".npmrc"), settings.join("\n"));
  env = { HOME: home, PATH: `${dirname(NODE)}${delimiter}${process.env["PATH"] ?? ""}` };
});
afterAll(async () => {
  await registry.stop();
  await rm(folder, { recursive: true, force: true });
});

it("npx -y audio-generation-mcp-sandbox makes a file, without an account", async () => {
  const testFolders = await createTestFolders();
  const { AUDIO_BASE_URL: _, AUDIO_API_KEY: __, ...settings } = testFolders.env(null);
  const command = npx("audio-generation-mcp-sandbox", settings);
  const client = await startCommandClient(command, "legacy");
  const answer = await client.call("generate_audio", { prompt: "Heard without an account." });
  expect(JSON.stringify(answer)).toMatch(/Saved .*\.mp3/);
  await client.close();
  await testFolders.remove();
}, 400_000);

it("npx -y audio-generation-mcp --sandbox names the package that brings the missing parts", async () => {
  const testFolders = await createTestFolders();
  const command = npx("audio-generation-mcp --sandbox", testFolders.env(null));
  const client = await startCommandClient(command, "legacy");
  const answer = await client.call("generate_audio", { prompt: "Heard by nobody." });
  expect(JSON.stringify(answer)).toMatch(
    /Settings, Developer, Edit Config.*npx -y audio-generation-mcp-sandbox/,
  );
  await client.close();
  await testFolders.remove();
}, 400_000);
