/**
 * The setup of one conversation: a service, folders, the built bin in one protocol era, and an assistant that counts
 * its calls.
 */
import { CreateTaskResultV2Schema, GetTaskResultV2Schema } from "@modelcontextprotocol/ext-tasks/core/v2";
import { expect } from "vitest";
import { z } from "zod";
import { startSandbox } from "../../../src/sandbox/sandbox.ts";
import { createSpeechEngine, type SpeechEngine } from "../../../src/sandbox/speech/speech.ts";
import { RawServer, toolResult } from "../../faults/raw-server.ts";
import { FAST } from "../../support/bin-under-test.ts";
import { FakeService, type FakeServiceOptions } from "../../support/fake-service.ts";
import { TASKS } from "../../support/task-client.ts";
import { createTestFolders, type TestFolders } from "../../support/test-folders.ts";
import { SeenAnswer } from "./seen-answer.ts";

/** The eras of the protocol; in the last one, the client also lets its calls be answered as MCP tasks. */
export const CALLS_AS_TASKS = "2026-07-28 with calls as tasks";
export const ERAS = ["2025-11-25", "2026-07-28", CALLS_AS_TASKS] as const;
export type Era = (typeof ERAS)[number];

const client = { name: "an-assistant", version: "1.0.0" };
const buildEnvelope = (era: Era) => ({
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": client,
  "io.modelcontextprotocol/clientCapabilities": era === CALLS_AS_TASKS ? TASKS : {},
});
const greeting = z.looseObject({ instructions: z.string() });

/** An assistant that knows only the instructions and the answers. */
export class Assistant {
  calls = 0;
  instructions = "";
  readonly #server: RawServer;
  readonly #era: Era;
  #lastWish: Readonly<Record<string, unknown>> = {};

  constructor(server: RawServer, era: Era) {
    this.#server = server;
    this.#era = era;
  }

  async initialize(): Promise<void> {
    const era = this.#era;
    const isModern = era !== "2025-11-25";
    const { result } = isModern
      ? await this.#server.request("server/discover", { _meta: buildEnvelope(era) })
      : await this.#server.request("initialize", {
          protocolVersion: era,
          capabilities: {},
          clientInfo: client,
        });
    this.instructions = greeting.parse(result).instructions;
    if (!isModern) this.#server.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  }

  /** Makes a call and returns its id at once. */
  begin(name: string, args: Readonly<Record<string, unknown>>): number {
    this.calls += 1;
    if (name === "generate_audio") this.#lastWish = args;
    const meta = this.#era === "2025-11-25" ? undefined : buildEnvelope(this.#era);
    return this.#server.begin(name, args, meta);
  }

  async answerTo(id: number): Promise<SeenAnswer> {
    const { result } = await this.#server.answerTo(id);
    const created = CreateTaskResultV2Schema.safeParse(result);
    if (created.success) return await this.#resultOf(created.data.taskId);
    return new SeenAnswer(await this.#server.outcomeOf(id));
  }

  /** Waits for the result of a call that is answered as an MCP task, as its client does. */
  async #resultOf(taskId: string): Promise<SeenAnswer> {
    for (;;) {
      const { result } = await this.#server.request("tasks/get", { taskId, _meta: buildEnvelope(this.#era) });
      const now = GetTaskResultV2Schema.parse(result);
      if (now.status === "completed") return new SeenAnswer(toolResult.parse(now.result));
      if (now.status !== "working") throw new Error(`the MCP task is ${JSON.stringify(now)}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async call(name: string, args: Readonly<Record<string, unknown>> = {}): Promise<SeenAnswer> {
    return await this.answerTo(this.begin(name, args));
  }

  async generate(args: Readonly<Record<string, unknown>>): Promise<SeenAnswer> {
    return await this.call("generate_audio", args);
  }

  /** Repeats the last `generate_audio` call with the given changes. */
  async repeat(changes: Readonly<Record<string, unknown>> = {}): Promise<SeenAnswer> {
    return await this.generate({ ...this.#lastWish, ...changes });
  }

  /** Makes the call that an answer names. */
  async follow(answer: SeenAnswer): Promise<SeenAnswer> {
    const { name, args } = answer.nextCall;
    return name === "generate_audio" ? await this.repeat() : await this.call(name, args);
  }

  /** Cancels a call, as a client does at its time-out. The model does not see the cancellation. */
  cancel(id: number): void {
    this.#server.cancel(id);
  }

  /** Kills the server, as when the client is closed or the machine is switched off. */
  async kill(): Promise<void> {
    this.#server.child.kill("SIGKILL");
    await this.#server.exited;
  }
}

interface Address {
  readonly baseUrl: string;
  readonly apiKey: string;
}

export interface ConversationOptions {
  readonly env?: Readonly<Record<string, string>>;
}

export class ConversationSetup {
  readonly testFolders: TestFolders;
  readonly #era: Era;
  readonly #address: Address | null;
  readonly #env: Readonly<Record<string, string>>;
  readonly #assistants: Assistant[] = [];
  readonly #closers: Array<() => Promise<void>>;

  constructor(
    testFolders: TestFolders,
    era: Era,
    address: Address | null,
    {
      env = {},
      close = () => Promise.resolve(),
    }: ConversationOptions & { readonly close?: () => Promise<void> },
  ) {
    this.testFolders = testFolders;
    this.#closers = [() => testFolders.remove(), close];
    this.#era = era;
    this.#address = address;
    this.#env = env;
  }

  /**
   * Starts another client, whose server works on the same folders.
   *
   * @param isKilled whether the conversation kills the server, which therefore has a process of its own
   */
  async startAssistant(env: Readonly<Record<string, string>> = {}, isKilled = false): Promise<Assistant> {
    const all = this.testFolders.env(this.#address, { ...FAST, ...this.#env, ...env });
    const server = await RawServer.start(all, { isInitialized: false, isInProcess: !isKilled });
    const assistant = new Assistant(server, this.#era);
    this.#assistants.push(assistant);
    this.#closers.push(async () => void (await server.end()));
    await assistant.initialize();
    return assistant;
  }

  get calls(): number {
    return this.#assistants.reduce((sum, { calls }) => sum + calls, 0);
  }

  /** Resets the count, so that the preparation of the conversation does not count. */
  forget(): void {
    for (const assistant of this.#assistants) assistant.calls = 0;
  }

  /** Closes every client, then the service. */
  async close(): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) await close();
  }

  expectCalls(fewest: number): void {
    expect(this.calls, "calls").toBe(fewest);
  }
}

export type CountedConversation = ConversationSetup & { readonly service: FakeService };

/** Creates a setup with the fake service, which can be made to misbehave. */
export async function setupWithFaults(
  era: Era,
  { env = {}, ...service }: ConversationOptions & FakeServiceOptions = {},
): Promise<CountedConversation> {
  const counting = await FakeService.start(service);
  const setup = new ConversationSetup(await createTestFolders(), era, counting, {
    env,
    close: () => counting.stop(),
  });
  return Object.assign(setup, { service: counting });
}

/** One engine for all sandboxes of a file, because its threads take longer to start than to speak. */
const voices = createSpeechEngine();
const spoken: SpeechEngine = { speak: voices.speak.bind(voices), close: () => Promise.resolve() };

/**
 * Creates a setup with the sandbox and real speech.
 *
 * @param speech replaces the real speech in conversations whose texts are too long for it
 */
export async function setupWithSandbox(
  era: Era,
  { speech = spoken, ...more }: ConversationOptions & { readonly speech?: SpeechEngine } = {},
): Promise<ConversationSetup> {
  const sandbox = await startSandbox({ speech, processingSeconds: 0, timeScale: 0.01 });
  return new ConversationSetup(await createTestFolders(), era, sandbox, {
    ...more,
    close: () => sandbox.stop(),
  });
}

/** Creates a setup without any settings. */
export async function setupWithoutSettings(era: Era): Promise<ConversationSetup> {
  return new ConversationSetup(await createTestFolders(), era, null, {});
}
