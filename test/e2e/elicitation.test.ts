/** The server asks the person for a narration's credit limit in both eras, but only if the client supports forms. */
import { Client as ModernClient } from "@modelcontextprotocol/client";
import { StdioClientTransport as ModernTransport } from "@modelcontextprotocol/client/stdio";
import { Client as LegacyClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as LegacyTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, it } from "vitest";
import { z } from "zod";
import { buildText, narrationOutput, PART_BYTES } from "../narration/narrator.ts";
import { BIN, FAST, NODE } from "../support/bin-under-test.ts";
import { openFoldersEach, openServiceEach } from "../support/e2e-setup.ts";

const service = openServiceEach({ audioBytes: PART_BYTES, audioSeconds: 4 });
const testFolders = openFoldersEach();

const INFO = { name: "asks-its-person", version: "1.0.0" };
const CAPABILITIES = { capabilities: { elicitation: { form: {} } } };

type Answer =
  | { readonly action: "accept"; readonly content: { readonly max_credits: number } }
  | { readonly action: "decline" };

interface Asked {
  readonly questions: string[];
  narrate(): Promise<z.infer<typeof narrationOutput>>;
  close(): Promise<void>;
}

const question = z.object({ message: z.string(), requestedSchema: z.looseObject({}) });
const ARGS = { name: "narrate", arguments: { text: buildText("One", "Two"), output_format: "pcm" } };

async function connect(era: "legacy" | "modern", answer: Answer): Promise<Asked> {
  const launchOptions = { command: NODE, args: [BIN], env: testFolders.env(service, FAST) };
  const questions: string[] = [];
  const reply = (params: unknown): Answer => {
    questions.push(question.parse(params).message);
    return answer;
  };
  if (era === "legacy") {
    const client = new LegacyClient(INFO, CAPABILITIES);
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => ({ ...reply(params) }));
    await client.connect(new LegacyTransport(launchOptions));
    return {
      questions,
      narrate: async () => narrationOutput.parse((await client.callTool(ARGS)).structuredContent),
      close: () => client.close(),
    };
  }
  const client = new ModernClient(INFO, { ...CAPABILITIES, versionNegotiation: { mode: "auto" } });
  client.setRequestHandler("elicitation/create", async ({ params }) => ({ ...reply(params) }));
  await client.connect(new ModernTransport(launchOptions));
  return {
    questions,
    narrate: async () => narrationOutput.parse((await client.callTool(ARGS)).structuredContent),
    close: () => client.close(),
  };
}

it.each(["legacy", "modern"] as const)("%s: what a person allows is spent in the same call", async (era) => {
  const client = await connect(era, { action: "accept", content: { max_credits: 400 } });
  const done = await client.narrate();
  await client.close();
  expect(client.questions).toHaveLength(1);
  expect(client.questions[0]).toMatch(/2 parts.*credits.*How many credits may it cost at most\?/);
  expect(done).toMatchObject({ status: "finished", credits: { charged: 20, max: 400 } });
});

it.each(["legacy", "modern"] as const)("%s: who declines gets the plan, and nothing is sent", async (era) => {
  const client = await connect(era, { action: "decline" });
  expect(await client.narrate()).toMatchObject({ status: "planned" });
  await client.close();
  expect(client.questions).toHaveLength(1);
  expect(service.exchanges).toEqual([]);
});
