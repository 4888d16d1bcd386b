/**
 * A bridge from the stateless HTTP of the modern era to one process of the built bin. Replaces calls of the suite's
 * example tools by calls of this server's tools.
 */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";
import { TaskClient } from "../support/task-client.ts";
import type { Bridge } from "./bridge.ts";

const message = z.looseObject({
  id: z.union([z.string(), z.number()]).optional(),
  method: z.string(),
  params: z.record(z.string(), z.unknown()).default({}),
});

const call = z.looseObject({ name: z.string(), arguments: z.record(z.string(), z.unknown()).default({}) });

/** The names of the suite's example tools, each with the call of this server that replaces it. */
export type Fixtures = Readonly<
  Record<string, (args: Record<string, unknown>) => { name: string; arguments: Record<string, unknown> }>
>;

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  return JSON.parse(Buffer.concat(chunks).toString());
}

function translated(fixtures: Fixtures, params: Record<string, unknown>): Record<string, unknown> {
  const { name, arguments: args } = call.parse(params);
  return { ...params, ...fixtures[name]?.(args) };
}

/** Serves one process at `http://127.0.0.1:<port>/mcp`. */
export async function startModernBridge(env: Record<string, string>, fixtures: Fixtures): Promise<Bridge> {
  const client = new TaskClient(env);
  // A modern client begins with this message. Without it, the server could take the connection for a legacy one.
  await client.request("server/discover", {}, {});
  await client.request("tools/list", {}, {});
  const server = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      const { id, method, params } = message.parse(await readBody(request));
      if (id === undefined) {
        response.writeHead(202).end();
        return;
      }
      const given = method === "tools/call" ? translated(fixtures, params) : params;
      const { result, error } = await client.request(method, given, {});
      const body = JSON.stringify({ jsonrpc: "2.0", id, ...(error === undefined ? { result } : { error }) });
      response.writeHead(200, { "content-type": "application/json" }).end(body);
    };
    answer().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // not a string, because the server listens on TCP
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await client.close();
    },
  };
}
