/** Starts the built bin with its sandbox, and forwards a host's requests to it. */
import type { CallToolResult } from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { z } from "zod";
import { PLAYER_URI } from "../../src/tools/player-uri.ts";
import { BIN, FAST, NODE, NODE_FLAGS } from "../support/bin-under-test.ts";
import { createTestFolders, type TestFolders } from "../support/test-folders.ts";
import { type Answerer, InvalidMessageReply } from "./chat-host.ts";

const pageSchema = z.object({
  contents: z.tuple([
    z.object({
      mimeType: z.literal("text/html;profile=mcp-app"),
      text: z.string(),
      _meta: z.object({ ui: z.record(z.string(), z.unknown()) }),
    }),
  ]),
});

const callSchema = z.object({ name: z.string(), arguments: z.record(z.string(), z.unknown()).optional() });

export interface ServerUnderTest {
  readonly testFolders: TestFolders;
  readonly client: Client;
  readonly pid: number;
  /** The player's page, as served. */
  readonly html: string;
  call(name: string, args: Record<string, unknown>): Promise<CallToolResult>;
  /** Answers the player like a host that forwards everything to the server. */
  readonly answer: Answerer;
  close(): Promise<void>;
}

/**
 * Starts a server.
 *
 * @param more settings of the server
 * @param service the service that it uses, and its folders; a sandbox of its own by default
 */
export async function startServer(
  more: Record<string, string> = {},
  service: { readonly baseUrl: string; readonly apiKey: string; readonly folders: TestFolders } | null = null,
): Promise<ServerUnderTest> {
  const testFolders = service?.folders ?? (await createTestFolders());
  const client = new Client({ name: "test-chat", version: "1" });
  const transport = new StdioClientTransport({
    command: NODE,
    args: [...NODE_FLAGS, BIN, ...(service === null ? ["--sandbox"] : [])],
    env: testFolders.env(service, { ...FAST, ...more }),
    stderr: "ignore",
  });
  await client.connect(transport);
  const [page] = pageSchema.parse(await client.readResource({ uri: PLAYER_URI })).contents;
  const call = (name: string, args: Record<string, unknown>): Promise<CallToolResult> =>
    client.callTool({ name, arguments: args }, { timeout: 60_000 });
  return {
    testFolders,
    client,
    pid: transport.pid ?? 0,
    html: page.text,
    call,
    answer: async (method, params) => {
      if (method === "resources/read") {
        const { uri } = z.object({ uri: z.string() }).parse(params);
        return await client.readResource({ uri }).catch((error) => {
          throw new InvalidMessageReply(Number(error.code ?? -32603), String(error.message));
        });
      }
      if (method === "tools/call") {
        const { name, arguments: args = {} } = callSchema.parse(params);
        return await call(name, args);
      }
      return {};
    },
    close: async () => {
      await client.close();
      if (service === null) await testFolders.remove();
    },
  };
}
