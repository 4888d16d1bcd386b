/** A service whose parts a test holds back or lets fail, and the narrations that it makes. */
import type { TestContext } from "vitest";
import { z } from "zod";
import { type RunningSandbox, startSandbox } from "../../src/sandbox/sandbox.ts";
import {
  createSpeechEngine,
  type SpeechEngine,
  type SpeechRequest,
} from "../../src/sandbox/speech/speech.ts";
import { createTestFolders, type TestFolders } from "../support/test-folders.ts";
import { type ServerUnderTest, startServer } from "./server-under-test.ts";

/** Real speech, some of which waits or fails. */
class StagedSpeech implements SpeechEngine {
  readonly #engine = createSpeechEngine();
  /** What is asked for, in order. */
  readonly prompts: string[] = [];
  held: RegExp = /^$/;
  failing: RegExp = /^$/;
  #isClosed = false;

  async speak(request: SpeechRequest, signal?: AbortSignal) {
    const { prompt } = request;
    this.prompts.push(prompt);
    while (this.held.test(prompt) && !this.#isClosed) await new Promise((resolve) => setTimeout(resolve, 20));
    if (this.failing.test(prompt)) throw new Error("this part fails");
    return await this.#engine.speak(request, signal);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#engine.close();
  }
}

export interface StagedRow {
  readonly status: string;
  readonly startSeconds: number;
  readonly taskId: string;
}

/** They are short, because a test listens to them in real time. */
const SENTENCES = [
  "The harbour lay quiet.",
  "Somebody whistled.",
  "A kettle began to sing.",
  "The gulls came.",
];

const begunSchema = z.object({ narration_id: z.string(), status: z.string() });
const filesSchema = z.object({ status: z.string(), files: z.array(z.object({ path: z.string() })) });

export interface NarrationStage {
  readonly speech: StagedSpeech;
  readonly folders: TestFolders;
  readonly service: { readonly baseUrl: string; readonly apiKey: string };
  /** Starts another server of the same account and ledger. */
  startServer(): Promise<ServerUnderTest>;
}

/** Opens a stage for one test. Its limits are a hundred times shorter than the service's. */
export async function openStage({ onTestFinished }: TestContext): Promise<NarrationStage> {
  const speech = new StagedSpeech();
  const folders = await createTestFolders();
  onTestFinished(() => folders.remove());
  const sandbox: RunningSandbox = await startSandbox({
    speech,
    processingSeconds: 0.1,
    timeScale: 0.01,
    onInternalError: () => undefined,
  });
  onTestFinished(() => sandbox.stop());
  const service = { baseUrl: sandbox.baseUrl, apiKey: sandbox.apiKey, folders };
  return {
    speech,
    folders,
    service,
    startServer: async () => {
      const server = await startServer({}, service);
      onTestFinished(() => server.close());
      return server;
    },
  };
}

/** Begins a dialogue whose turns are a part each, and returns its first result. */
export async function beginDialogue(
  server: ServerUnderTest,
  turns: number,
  more: Record<string, unknown> = {},
) {
  const text = Array.from(
    { length: turns },
    (_, turn) => `${turn % 2 === 0 ? "Ann" : "Ben"}: Turn ${turn + 1}. ${SENTENCES[turn % 4]}`,
  ).join("\n\n");
  const result = await server.call("narrate", {
    text,
    voices: ["Ann: sophie_en_zh", "Ben: kian_en_zh"],
    max_credits: 20_000,
    wait_seconds: 0,
    ...more,
  });
  return { result, id: begunSchema.parse(result.structuredContent).narration_id };
}

/** Waits until a narration ends. Returns its status and the path of its first file. */
export async function waitForEnd(server: ServerUnderTest, id: string) {
  const ended = await server.call("narrate", { narration_id: id, wait_seconds: 50 });
  const { status, files } = filesSchema.parse(ended.structuredContent);
  return { status, path: files[0]?.path ?? "" };
}

/** Reads how the parts of a narration stand. */
export async function readRows(server: ServerUnderTest, id: string): Promise<StagedRow[]> {
  const { contents } = await server.client.readResource({ uri: `audio://narrations/${id}` });
  const [content] = z.array(z.object({ text: z.string() })).parse(contents);
  return (content?.text ?? "")
    .split("\n")
    .filter((line) => /^\| \d+ \|/.test(line))
    .map((line) => {
      const cells = line.split("|").map((cell) => cell.trim());
      return {
        status: cells[2] ?? "",
        startSeconds: Number(cells[7]?.replace("~", "")),
        taskId: cells[4] ?? "",
      };
    });
}

/** Waits until so many parts are saved. */
export async function waitForSaved(server: ServerUnderTest, id: string, count: number): Promise<void> {
  for (;;) {
    const rows = await readRows(server, id);
    if (rows.filter(({ status }) => status === "saved").length >= count) return;
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}
