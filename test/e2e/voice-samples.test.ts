/** Samples of voices: paid once, listed by list_voices, and playable on a page. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { VOICE_IDS } from "../../src/contract/voices.ts";
import { FAST } from "../support/bin-under-test.ts";
import { openFoldersEach, openServiceEach } from "../support/e2e-setup.ts";
import { type EndedCommand, runCommand } from "../support/run-command.ts";
import { startToolClient } from "../support/tool-client.ts";
import { resultTextOf } from "../support/tool-result.ts";

const service = openServiceEach();
const testFolders = openFoldersEach();

const run = async (...args: string[]): Promise<EndedCommand> =>
  await runCommand(["voices", ...args], testFolders.env(service, FAST));

it("voice samples are made once for all voices, and are free from then on", async () => {
  const page = join(testFolders.root, "voices.html");
  const asked = await run("--sample");
  expect(asked).toMatchObject({ code: 1, stdout: "" });
  expect(asked.stderr).toContain(
    `${VOICE_IDS.length} samples cost about ${VOICE_IDS.length * 10} credits, once for this account, and take about 4 min; nothing was sent`,
  );
  expect(service.tasks.size).toBe(0);
  const first = await run("--sample", "--yes", "--html", page);
  expect(first).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`${VOICE_IDS.length * 10} credits were charged`),
  });
  expect(first.stderr).toMatch(/^21 samples cost about 210 credits, .* and take about 4 min\.\n/);
  expect(first.stderr).toContain(
    `Sample ${VOICE_IDS.length} of ${VOICE_IDS.length} made; ${VOICE_IDS.length * 10} credits`,
  );
  expect(await testFolders.outputNames()).toEqual(expect.arrayContaining(VOICE_IDS.map((id) => `${id}.mp3`)));
  expect(service.tasks.size).toBe(VOICE_IDS.length);
  const second = await run("--sample", "--html", page);
  expect(second).toMatchObject({ code: 0, stdout: expect.stringContaining("\n0 credits were charged") });
  expect(service.tasks.size).toBe(VOICE_IDS.length);
  const html = await readFile(page, "utf8");
  expect(html.match(/<audio /g)).toHaveLength(VOICE_IDS.length);
  expect(html).toContain(`${VOICE_IDS.length} voices, ${VOICE_IDS.length} with a sample.`);
  expect(html).not.toContain("0 credits.");
  const client = await startToolClient(testFolders.env(service, FAST));
  const listed = await client.call("list_voices", {});
  for (const id of VOICE_IDS)
    expect(resultTextOf(listed)).toMatch(new RegExp(`^${id}: sample ${testFolders.root}`, "m"));
  await client.close();
});

it("voice samples are the same request in the chat and in the command", async () => {
  const client = await startToolClient(testFolders.env(service, FAST));
  const listed = await client.call("list_voices", { language: "es" });
  const sentences = Object(listed.structuredContent?.["sample_sentences"]);
  await client.call("generate_audio", { voice: "tracy_es_zh", prompt: sentences.es });
  const again = await client.call("list_voices", { query: "tracy" });
  expect(again.structuredContent).toMatchObject({
    voices: [{ id: "tracy_es_zh", sample_path: expect.stringContaining(".mp3") }],
  });
  expect(resultTextOf(again)).toContain(`Sample in es: ${sentences.es}`);
  await client.close();
});

it("voice samples are not requested without settings or without --sample", async () => {
  const client = await startToolClient(testFolders.env(null, FAST));
  expect(resultTextOf(await client.call("list_voices", {}))).toContain("Sample in en:");
  await client.close();
  expect((await run()).stdout).toContain("tracy_es_zh: no sample here");
  expect(service.exchanges).toEqual([]);
});
