/** Connects the official clients, in both eras of the protocol, to the server under test. */
import { Client as ModernClient } from "@modelcontextprotocol/client";
import { StdioClientTransport as ModernTransport } from "@modelcontextprotocol/client/stdio";
import { Client as LegacyClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as LegacyTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StdioServerTransport as LegacyStreams } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StdioServerTransport as ModernStreams } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";
import { BIN, NODE, NODE_FLAGS } from "./bin-under-test.ts";
import { launchServer } from "./launch-server.ts";
import { type ToolOutcome, toolResult } from "./tool-result.ts";

export interface ToolClient {
  /** The id of the server's process. Throws if the server runs in the process of the test. */
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

/** The era of the protocol. Each era has its own official client. */
export type ClientEra = "legacy" | "modern";

const readResult = z.object({
  contents: z.array(z.object({ mimeType: z.string().optional(), blob: z.string() })).min(1),
});

const readTextResult = z.object({ contents: z.array(z.object({ text: z.string() })).min(1) });

/** Starts the server under an official client. A test that needs a process of its own uses {@link startBinClient}. */
export async function startToolClient(
  env: Record<string, string>,
  era: ClientEra = "modern",
  args: readonly string[] = [],
): Promise<ToolClient> {
  const server = launchServer(env, { args });
  const client = era === "legacy" ? new LegacyClient(CLIENT_INFO) : new ModernClient(CLIENT_INFO);
  // A transport over streams serves both ends of a connection.
  if (client instanceof LegacyClient) await client.connect(new LegacyStreams(server.output, server.input));
  else await client.connect(new ModernStreams(server.output, server.input));
  return asToolClient(client, {
    pid: () => server.child.pid,
    stderr: server.stderr,
    close: async () => {
      server.input.end();
      await server.exited;
    },
  });
}

/** Starts the built bin under an official client, as an assistant's application would. */
export function startBinClient(
  env: Record<string, string>,
  era: ClientEra = "modern",
  args: readonly string[] = [],
): Promise<ToolClient> {
  return startCommandClient({ command: NODE, args: [...NODE_FLAGS, BIN, ...args], env }, era);
}

const CLIENT_INFO = { name: "end-to-end-test", version: "1.0.0" };

/** `npx` installs a package before it answers, which takes minutes on a busy machine. */
const CONNECT_TIMEOUT_MS = 300_000;

/** Starts any command under an official client. */
export async function startCommandClient(
  launchOptions: { command: string; args: string[]; env: Record<string, string>; cwd?: string },
  era: ClientEra = "modern",
): Promise<ToolClient> {
  const parameters = { ...launchOptions, stderr: "pipe" as const };
  const client = era === "legacy" ? new LegacyClient(CLIENT_INFO) : new ModernClient(CLIENT_INFO);
  const transport = era === "legacy" ? new LegacyTransport(parameters) : new ModernTransport(parameters);
  let stderr = "";
  transport.stderr?.on("data", (chunk) => {
    stderr += String(chunk);
  });
  const patience = { timeout: CONNECT_TIMEOUT_MS };
  if (client instanceof LegacyClient) await client.connect(transport as LegacyTransport, patience);
  else await client.connect(transport as ModernTransport, patience);
  // Read the id now, because the transport forgets it when the process ends.
  const { pid } = transport;
  return asToolClient(client, {
    pid: () => pid,
    stderr: () => stderr,
    close: () => client.close(),
  });
}

interface ServerOfClient {
  readonly pid: () => number | null | undefined;
  readonly stderr: () => string;
  close(): Promise<void>;
}

function asToolClient(client: LegacyClient | ModernClient, server: ServerOfClient): ToolClient {
  return {
    get pid() {
      const pid = server.pid();
      if (pid == null) throw new Error("the server did not start");
      return pid;
    },
    stderr: server.stderr,
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
    close: server.close,
  };
}
