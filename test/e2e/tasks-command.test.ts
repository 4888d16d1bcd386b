/** The output of the `tasks` command: the ledger, without characters that a terminal interprets. */
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { COMPILED } from "../support/bin-under-test.ts";
import { openFoldersEach, openServiceEach } from "../support/e2e-setup.ts";
import { runCommand } from "../support/run-command.ts";
import { startToolClient } from "../support/tool-client.ts";
import { generate } from "../support/tool-result.ts";

const service = openServiceEach();
const testFolders = openFoldersEach();

/** A prompt with control characters, bidirectional text and hidden text. */
const PROMPT = "Red \u001b[31m \u009b31m \u202egnp.exe\u202c \u2066x\u2069 \u200b\u{e0041} end 👩‍💻";
const ACTIVE = /[^\P{C}\n\u200d]|[\u2028\u2029]/u;

async function tasks(
  args: readonly string[] = [],
  env = testFolders.env(service, { AUDIO_TIME_SCALE: "0.001" }),
): Promise<string> {
  const result = await runCommand(["tasks", ...args], env);
  expect(result).toMatchObject({ code: 0, stderr: "" });
  return result.stdout;
}

describe("a request with characters that a terminal interprets", () => {
  beforeEach(async () => {
    const client = await startToolClient(
      testFolders.env(service, { ...COMPILED, AUDIO_TIME_SCALE: "0.001" }),
    );
    expect((await generate(client, { prompt: PROMPT })).status).toBe("succeeded");
    await client.close();
  });

  it("is listed with these escaped", async () => {
    const text = await tasks();
    expect(text).not.toMatch(ACTIVE);
    expect(text).toContain("\\u{9b}31m \\u{202e}gnp.exe\\u{202c}");
    expect(text).toContain("👩‍💻");
  });

  it("keeps its meaning in JSON, which contains only escapes of them", async () => {
    const text = await tasks(["--json"]);
    expect(text.replaceAll("👩‍💻", "")).not.toMatch(/[^\P{C}\n]|[\u2028\u2029]/u);
    const row = z.looseObject({ prompt_excerpt: z.string() });
    const { tasks: rows } = z.looseObject({ tasks: z.array(row) }).parse(JSON.parse(text));
    expect(rows[0]?.prompt_excerpt).toBe(PROMPT);
  });
});

it("a request that was refused is listed as refused, with its reason and with what was spent in all", async () => {
  const client = await startToolClient(testFolders.env(service, { ...COMPILED, AUDIO_TIME_SCALE: "0.001" }));
  await client.call("generate_audio", { prompt: "Good morning" });
  service.refuseEvery("create", 403, "purchase_required", "a paid pack is needed");
  await client.call("generate_audio", { prompt: "Good evening" });
  await client.close();
  const text = await tasks();
  expect(text).toMatch(/ {2}refused {2}req-.*\n.*"Good evening"\n.*next: Refused \(purchase_required\)/);
  expect(text).toMatch(/\nSpent: 10 credits today, 10 in 7 days, 10 in 30 days\.\n$/);
});

it("a ledger without a request for this address is reported as empty only if it is empty", async () => {
  expect(await tasks()).toBe("No requests recorded yet.\n");
  const client = await startToolClient(testFolders.env(service, { ...COMPILED, AUDIO_TIME_SCALE: "0.001" }));
  await client.call("generate_audio", { prompt: "For another address" });
  await client.close();
  const env = testFolders.env({ baseUrl: "http://127.0.0.1:9", apiKey: "sk-other" });
  expect(await tasks([], env)).toBe(
    `No requests recorded yet for http://127.0.0.1:9 (AUDIO_BASE_URL); the ledger holds some for ${service.baseUrl}.\n`,
  );
});
