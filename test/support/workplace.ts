/** The workplace of an end-to-end test: temporary folders, the built bin, and official clients. */
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Client as ModernClient } from "@modelcontextprotocol/client";
import { StdioClientTransport as ModernTransport } from "@modelcontextprotocol/client/stdio";
import { Client as LegacyClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as LegacyTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { z } from "zod";
import { TASK_STATUSES } from "../../src/contract/audio-task.ts";

/** The bin under test. `TEST_BIN` selects another version, to check that a test fails with it. */
export const BIN = process.env["TEST_BIN"] ?? join(import.meta.dirname, "..", "..", "dist", "main.js");

/** The Node that runs the bin: this one, or the one that `npm run test:matrix` is trying. */
export const NODE = process.env["TEST_NODE"] ?? process.execPath;

/** Node options before the bin. `npm run test:permission` uses them to forbid everything that the bin does not need. */
export const NODE_FLAGS: readonly string[] = process.env["TEST_NODE_FLAGS"]?.split(" ") ?? [];

/** Folders of one test's own, with the settings that point at them. */
export interface Workplace {
  readonly root: string;
  readonly outputDir: string;
  readonly stateDir: string;
  env(
    service: { baseUrl: string; apiKey: string } | null,
    more?: Record<string, string>,
  ): Record<string, string>;
  /** Names in the output folder, sorted; temporary files included. */
  outputNames(): Promise<string[]>;
  remove(): Promise<void>;
}

/**
 * The compile cache is shared by all processes of a run, as in normal use from the second start on. A new state
 * folder has no cache of its own. Tests of folders and disks do not use it.
 */
export const COMPILED = { NODE_COMPILE_CACHE: join(tmpdir(), "audio-generation-tests-compiled") };

/** Windows, polls and backoffs are a hundred times shorter than in normal use. */
export const FAST = { AUDIO_TIME_SCALE: "0.01", ...COMPILED };

export async function createWorkplace(): Promise<Workplace> {
  const root = await mkdtemp(join(tmpdir(), "agm-test-"));
  const outputDir = join(root, "out");
  const stateDir = join(root, "state");
  return {
    root,
    outputDir,
    stateDir,
    env: (service, more = {}) => ({
      PATH: process.env["PATH"] ?? "",
      HOME: root,
      AUDIO_OUTPUT_DIR: outputDir,
      AUDIO_STATE_DIR: stateDir,
      // The clients of these tests are not among those that get them by themselves.
      AUDIO_RESOURCE_LINKS: "always",
      ...(service === null ? {} : { AUDIO_BASE_URL: service.baseUrl, AUDIO_API_KEY: service.apiKey }),
      ...more,
    }),
    outputNames: async () => (existsSync(outputDir) ? (await readdir(outputDir)).sort() : []),
    // A server that is just ending may still be writing its compile cache.
    remove: () => rm(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }),
  };
}

/** An omitted field reads as `null` here. A `null` in the message is refused. */
export const orAbsent = <T extends z.ZodType>(schema: T) =>
  schema.optional().transform((value) => value ?? null);

export const taskOutput = z
  .strictObject({
    /** A task id, or `req-…` before there is one. */
    task_id: z.string().min(1),
    status: z.enum(["waiting", ...TASK_STATUSES]),
    message: z.string().min(1),
    take: orAbsent(z.int()),
    voice: orAbsent(z.string()),
    /** Only get_task returns it, like the hash of the file. */
    idempotency_key: orAbsent(z.string()),
    replayed: z.boolean(),
    billing: orAbsent(
      z.strictObject({
        reserved_credits: z.literal(150),
        charged_credits: orAbsent(z.int()),
        refunded_credits: orAbsent(z.int()),
      }),
    ),
    audio_seconds: orAbsent(z.number()),
    audio: orAbsent(
      z.strictObject({
        path: z.string(),
        mime_type: z.string(),
        format: z.string(),
        sample_rate: z.int(),
        size_bytes: z.int(),
        sha256: orAbsent(z.string()),
      }),
    ),
    error: orAbsent(z.strictObject({ code: z.string(), message: z.string().optional() })),
    next_step: z.string().min(1),
  })
  .transform((task) => ({
    ...task,
    audio: task.audio && {
      ...task.audio,
      uri: pathToFileURL(task.audio.path).href,
      duration_seconds: task.audio_seconds,
    },
  }));
export type TaskOutput = z.infer<typeof taskOutput>;

const contentBlock = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  data: z.string().optional(),
  mimeType: z.string().optional(),
  uri: z.string().optional(),
  size: z.number().optional(),
  name: z.string().optional(),
  resource: z.looseObject({ uri: z.string(), blob: z.string().optional() }).optional(),
});

const errorFacts = z.strictObject({
  code: z.string(),
  retryable: z.boolean(),
  http_status: orAbsent(z.int()),
  retry_after_seconds: orAbsent(z.number()),
  task_id: orAbsent(z.string()),
  idempotency_key: orAbsent(z.string()),
});

const toolResult = z.looseObject({
  isError: z.boolean().optional(),
  content: z.array(contentBlock),
  structuredContent: z.record(z.string(), z.unknown()).optional(),
  _meta: z.looseObject({ "audio-generation-mcp/error": errorFacts.optional() }).optional(),
});
export type ToolOutcome = z.infer<typeof toolResult>;

export interface ToolClient {
  readonly pid: number;
  readonly stderr: () => string;
  tools(): Promise<Array<{ name: string } & Record<string, unknown>>>;
  call(
    name: string,
    args: Record<string, unknown>,
    options?: {
      onprogress?: (message: string, progress: number) => void;
      signal?: AbortSignal;
      timeoutMs?: number;
    },
  ): Promise<ToolOutcome>;
  read(uri: string): Promise<{ mimeType: string | undefined; bytes: Buffer }>;
  readText(uri: string): Promise<string>;
  templates(): Promise<string[]>;
  instructions(): string | undefined;
  close(): Promise<void>;
}

export type ClientKind = "v1" | "v2";

const readResult = z.object({
  contents: z.array(z.object({ mimeType: z.string().optional(), blob: z.string() })).min(1),
});

const readTextResult = z.object({ contents: z.array(z.object({ text: z.string() })).min(1) });

/** Starts the built bin under an official client, as an assistant's application would. */
export function startToolClient(
  env: Record<string, string>,
  kind: ClientKind = "v2",
  args: readonly string[] = [],
): Promise<ToolClient> {
  return startCommandClient({ command: NODE, args: [...NODE_FLAGS, BIN, ...args], env }, kind);
}

/** `npx` installs a package before it answers, which takes minutes on a busy machine. */
const CONNECT_TIMEOUT_MS = 300_000;

/** Starts any command under an official client. */
export async function startCommandClient(
  how: { command: string; args: string[]; env: Record<string, string>; cwd?: string },
  kind: ClientKind = "v2",
): Promise<ToolClient> {
  const parameters = { ...how, stderr: "pipe" as const };
  const info = { name: "end-to-end-test", version: "1.0.0" };
  const client = kind === "v1" ? new LegacyClient(info) : new ModernClient(info);
  const transport = kind === "v1" ? new LegacyTransport(parameters) : new ModernTransport(parameters);
  let stderr = "";
  transport.stderr?.on("data", (chunk) => {
    stderr += String(chunk);
  });
  const patience = { timeout: CONNECT_TIMEOUT_MS };
  if (client instanceof LegacyClient) await client.connect(transport as LegacyTransport, patience);
  else await client.connect(transport as ModernTransport, patience);
  const pid = transport.pid;
  if (pid === null) throw new Error("the server did not start");
  return {
    pid,
    stderr: () => stderr,
    tools: async () => (await client.listTools()).tools,
    call: async (name, toolArgs, options = {}) => {
      const { onprogress, signal, timeoutMs = 110_000 } = options;
      const requestOptions = {
        timeout: timeoutMs,
        ...(signal === undefined ? {} : { signal }),
        ...(onprogress === undefined
          ? {}
          : {
              onprogress: (update: { message?: string | undefined; progress: number }) =>
                onprogress(update.message ?? "", update.progress),
            }),
      };
      const parameters = { name, arguments: toolArgs };
      const result =
        client instanceof LegacyClient
          ? await client.callTool(parameters, undefined, requestOptions)
          : await client.callTool(parameters, requestOptions);
      return toolResult.parse(result);
    },
    read: async (uri) => {
      const [first] = readResult.parse(await client.readResource({ uri })).contents;
      return { mimeType: first?.mimeType, bytes: Buffer.from(first?.blob ?? "", "base64") };
    },
    readText: async (uri) =>
      readTextResult
        .parse(await client.readResource({ uri }))
        .contents.map(({ text }) => text)
        .join(""),
    templates: async () =>
      (await client.listResourceTemplates()).resourceTemplates.map(({ uriTemplate }) => uriTemplate),
    instructions: () => client.getInstructions(),
    close: () => client.close(),
  };
}

/** The task of a successful result. */
export function taskOf(outcome: ToolOutcome): TaskOutput {
  if (outcome.isError === true) throw new Error(`an error came back: ${textOf(outcome)}`);
  return taskOutput.parse(outcome.structuredContent);
}

/** The facts of an error result. */
export function errorOf(outcome: ToolOutcome): z.infer<typeof errorFacts> {
  const facts = outcome._meta?.["audio-generation-mcp/error"];
  if (outcome.isError !== true || facts === undefined) {
    throw new Error(`no error came back: ${JSON.stringify(outcome).slice(0, 500)}`);
  }
  if (outcome.structuredContent !== undefined) throw new Error("an error carries structured content");
  return facts;
}

export function textOf(outcome: ToolOutcome): string {
  return outcome.content.map((block) => block.text ?? "").join("\n");
}
