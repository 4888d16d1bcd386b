/** A bridge from Streamable HTTP to the built bin on stdio, with one process per session. Changes no message. */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { isInitializeRequest, type JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { BIN, NODE } from "../support/bin-under-test.ts";

/** A request that asks for progress. Its progress notifications are sent on the stream of that request. */
const progressRequest = z.object({
  id: z.union([z.string(), z.number()]),
  params: z.object({ _meta: z.object({ progressToken: z.union([z.string(), z.number()]) }) }),
});
const progressNotification = z.object({
  method: z.literal("notifications/progress"),
  params: z.object({ progressToken: z.union([z.string(), z.number()]) }),
});

export interface Bridge {
  readonly url: string;
  close(): Promise<void>;
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  const text = Buffer.concat(chunks).toString();
  return text === "" ? undefined : JSON.parse(text);
}

/** Starts the bin for a session, and passes every message on between HTTP and the bin's stdio. */
async function openSession(
  env: Record<string, string>,
  allowedHosts: string[],
  sessions: Map<string, StreamableHTTPServerTransport>,
): Promise<StreamableHTTPServerTransport> {
  const stdio = new StdioClientTransport({ command: NODE, args: [BIN, "--sandbox"], env, stderr: "ignore" });
  const http = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => {
      sessions.set(id, http);
    },
    enableDnsRebindingProtection: true,
    allowedHosts,
  });
  const askedForProgress = new Map<string | number, string | number>();
  http.onmessage = (message: JSONRPCMessage) => {
    const asked = progressRequest.safeParse(message);
    if (asked.success) askedForProgress.set(asked.data.params._meta.progressToken, asked.data.id);
    void stdio.send(message);
  };
  stdio.onmessage = (message: JSONRPCMessage) => {
    const progress = progressNotification.safeParse(message);
    const relatedRequestId = progress.success
      ? askedForProgress.get(progress.data.params.progressToken)
      : undefined;
    // A client that has disconnected needs no answer.
    http.send(message, relatedRequestId === undefined ? {} : { relatedRequestId }).catch(() => undefined);
  };
  http.onclose = () => void stdio.close();
  await stdio.start();
  await http.start();
  return http;
}

/** Serves the bin at `http://127.0.0.1:<port>/mcp`, with a separate sandbox for each session. */
export async function startBridge(env: Record<string, string>): Promise<Bridge> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const allowedHosts: string[] = [];
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readBody(request);
    const id = request.headers["mcp-session-id"]?.toString();
    const known = id === undefined ? undefined : sessions.get(id);
    if (known === undefined && !isInitializeRequest(body)) {
      response.writeHead(id === undefined ? 400 : 404).end();
      return;
    }
    const session = known ?? (await openSession(env, allowedHosts, sessions));
    await session.handleRequest(request, response, body);
  };
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // not a string, because the server listens on TCP
  allowedHosts.push(`localhost:${port}`, `127.0.0.1:${port}`);
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    close: async () => {
      await Promise.all([...sessions.values()].map((session) => session.close()));
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
