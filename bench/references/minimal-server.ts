/** The reference for start-up: the smallest bundled server on the same SDK, with one empty tool. */
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

serveStdio(() => {
  const server = new McpServer({ name: "minimal", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.registerTool("nothing", { description: "Does nothing", inputSchema: z.object({}) }, () => ({
    content: [{ type: "text", text: "" }],
  }));
  return server;
});
process.stdin.once("end", () => process.exit(0));
