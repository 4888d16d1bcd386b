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
  /** The player's page, as served. */
  readonly html: string;
  call(name: string, args: Record<string, unknown>): Promise<CallToolResult>;
  /** Answers the player like a host that forwards everything to the server. */
  readonly answer: Answerer;
  close(): Promise<void>;
}

export async function startServer(more: Record<string, string> = {}): Promise<ServerUnderTest> {
  const testFolders = await createTestFolders();
  const client = new Client({ name: "test-chat", version: "1" });
  const env = testFolders.env(null, { ...FAST, ...more });
  await client.connect(
    new StdioClientTransport({
      command: NODE,
      args: [...NODE_FLAGS, BIN, "--sandbox"],
      env,
      stderr: "ignore",
    }),
  );
  const [page] = pageSchema.parse(await client.readResource({ uri: PLAYER_URI })).contents;
  const call = (name: string, args: Record<string, unknown>): Promise<CallToolResult> =>
    client.callTool({ name, arguments: args }, { timeout: 60_000 });
  return {
    testFolders,
    client,
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
      await testFolders.remove();
    },
  };
}
