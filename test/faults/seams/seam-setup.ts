/** Narrations and MCP tasks over the raw server, for the tests of the engine's seams. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { CreateTaskResultV2Schema } from "@modelcontextprotocol/ext-tasks/core/v2";
import { afterEach, expect } from "vitest";
import { type NarrationOutput, narrationOutput, PART_BYTES } from "../../narration/narrator.ts";
import type { FakeService } from "../../support/fake-service.ts";
import { TASKS } from "../../support/task-client.ts";
import { resultTextOf } from "../../support/tool-result.ts";
import { pause, waitUntil } from "../defects/read-from-outside.ts";
import { closeAfterEach, type FaultSetup, type FaultSetupOptions, openFaultSetup } from "../fault-setup.ts";
import type { Message, Outcome, RawServer } from "../raw-server.ts";

/** Longer than any task of these tests is held. */
export const HELD_MS = 600_000;

/** Two API keys of one account. */
export const KEYS = ["sk-test-0123456789abcdef", "sk-test-fedcba9876543210"] as const;

const opened: { readonly setup: FaultSetup; readonly servers: RawServer[] }[] = [];

/** Raw sound can be joined. With this time scale the recovery timeout is 39 s. */
export async function openSeams({ env, service, ...more }: FaultSetupOptions = {}): Promise<FaultSetup> {
  const setup = await openFaultSetup({
    ...more,
    env: { AUDIO_TIME_SCALE: "0.01", ...env },
    service: { audioBytes: PART_BYTES, audioSeconds: 4, hasDistinctSounds: true, ...service },
  });
  const servers = [setup.server];
  opened.push({ setup, servers });
  return {
    ...setup,
    another: async (...args) => {
      const server = await setup.another(...args);
      servers.push(server);
      return server;
    },
  };
}

/** Like {@link closeAfterEach}, but the folder of parts may be there, because narrations leave it. */
export function closeSeamsAfterEach(): void {
  closeAfterEach();
  // Of several hooks, the last one is called first.
  afterEach(async () => {
    for (const { setup, servers } of opened.splice(0)) {
      for (const server of servers.filter(({ isRunning }) => isRunning))
        expect(await server.end()).toMatchObject({ code: 0, signal: null });
      await rm(join(setup.testFolders.outputDir, ".parts"), { recursive: true, force: true });
    }
  });
}

/** A chapter for each sentence, so that each is a part. */
export const chapters = (...sentences: readonly string[]): string =>
  sentences.map((sentence, index) => `# H${index}\n\n${sentence}`).join("\n\n");

function narrationOf(outcome: Outcome): NarrationOutput {
  if (outcome.isError === true) throw new Error(`an error came back: ${resultTextOf(outcome)}`);
  return narrationOutput.parse(outcome.structuredContent);
}

export async function narrate(server: RawServer, args: Record<string, unknown>): Promise<NarrationOutput> {
  const format = args["narration_id"] === undefined ? { output_format: "pcm" } : {};
  return narrationOf(await server.call("narrate", { ...format, ...args }));
}

/** Plans a narration and starts it under any limit. Returns its id. */
export async function start(
  server: RawServer,
  text: string,
  max_credits = 5000,
  more: Record<string, unknown> = {},
): Promise<string> {
  const { narration_id } = await narrate(server, { text, ...more });
  const limit = { narration_id, max_credits, wait_seconds: 0, ...more };
  // The first call with a limit below the suggested one is answered with the plan.
  const first = await narrate(server, limit);
  if (first.status === "planned") await narrate(server, limit);
  return narration_id;
}

/** Waits until nothing of a narration runs any more. Looks only: spends nothing. */
export async function waitForEnd(server: RawServer, narration_id: string): Promise<NarrationOutput> {
  return await waitUntil("the end of the narration", async () => {
    const now = await narrate(server, { narration_id, wait_seconds: 2 });
    return now.status !== "running" && now.parts.running === 0 && now;
  });
}

export const sentPrompts = (service: FakeService): string[] =>
  [...service.tasks.values()].map(({ body }) => String(Object(JSON.parse(body)).prompt));

/** Lets all tasks end, and those to come. */
export function release(service: FakeService): void {
  service.processingMs = 0;
  for (const task of service.tasks.values()) if (task.status !== "failed") task.status = "succeeded";
}

export async function waitForTasks({ service }: FaultSetup, count: number): Promise<void> {
  await waitUntil(`${count} tasks`, () => service.tasks.size >= count);
}

/** Takes both concurrency slots, so that nothing else is sent until {@link release}. */
export async function takeSlots(setup: FaultSetup, count = 2): Promise<void> {
  setup.service.processingMs = HELD_MS;
  for (let index = 0; index < count; index += 1)
    await setup.server.call("generate_audio", { prompt: `This holds slot ${index}.`, wait_seconds: 0 });
  await waitForTasks(setup, count);
}

/** Starts a process for a client of the tasks extension. */
export const anotherOfTasks = async (
  setup: FaultSetup,
  env: Record<string, string> = {},
): Promise<RawServer> => await setup.another(env, { isInitialized: false });

async function ask(server: RawServer, method: string, params: Record<string, unknown>): Promise<Message> {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "seams", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": TASKS,
  };
  return await server.request(method, { ...params, _meta });
}

/** Makes a call that is answered with an MCP task or, if nothing has to be waited for, with its result. */
export async function callAsTask(
  server: RawServer,
  name: string,
  args: Record<string, unknown>,
): Promise<{ taskId: string | undefined; text: string }> {
  const { result, error } = await ask(server, "tools/call", { name, arguments: args });
  if (error !== undefined) throw new Error(`${error.code} ${error.message}`);
  const task = CreateTaskResultV2Schema.safeParse(result);
  return { taskId: task.success ? task.data.taskId : undefined, text: JSON.stringify(result) };
}

export async function beginTask(
  server: RawServer,
  name: string,
  args: Record<string, unknown>,
): Promise<string> {
  const { taskId, text } = await callAsTask(server, name, args);
  if (taskId === undefined) throw new Error(`no MCP task: ${text}`);
  return taskId;
}

export async function cancelTask(server: RawServer, taskId: string): Promise<void> {
  await ask(server, "tasks/cancel", { taskId });
}

/** Polls an MCP task until it has ended, and returns its last answer as text. */
export async function endOfTask(server: RawServer, taskId: string): Promise<string> {
  return await waitUntil("the end of the MCP task", async () => {
    await pause(50);
    const { result } = await ask(server, "tasks/get", { taskId });
    return result?.["status"] !== "working" && JSON.stringify(result);
  });
}
