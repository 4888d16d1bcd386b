/** The reference for replays: the smallest server on the same SDK whose one tool looks a row up, checks a file's hash and answers with a text of a usual length. */
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open, realpath } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const CHUNK_BYTES = 256 * 1024;

const ledger = new DatabaseSync(process.argv[2] ?? ":memory:");
ledger.exec("PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS rows (id TEXT PRIMARY KEY, value TEXT)");
const put = ledger.prepare("INSERT OR REPLACE INTO rows VALUES (?, ?)");
const get = ledger.prepare("SELECT value FROM rows WHERE id = ?");
const row = z.object({ value: z.string() });

async function hashOf(path: string): Promise<string> {
  const [, file] = await Promise.all([realpath(path), open(path, constants.O_RDONLY)]);
  try {
    await file.stat();
    const hash = createHash("sha256");
    let [hashing, filling] = [Buffer.allocUnsafeSlow(CHUNK_BYTES), Buffer.allocUnsafeSlow(CHUNK_BYTES)];
    let reading = file.read(filling, 0, CHUNK_BYTES, 0);
    for (let from = 0; ; ) {
      const { bytesRead } = await reading;
      if (bytesRead === 0) return hash.digest("hex");
      [hashing, filling] = [filling, hashing];
      from += bytesRead;
      reading = file.read(filling, 0, CHUNK_BYTES, from);
      hash.update(hashing.subarray(0, bytesRead));
    }
  } finally {
    await file.close();
  }
}

serveStdio(() => {
  const server = new McpServer({ name: "verifying", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.registerTool(
    "verify",
    { description: "Says whether a file is as it was", inputSchema: z.object({ path: z.string() }) },
    async ({ path }) => {
      const known = row.safeParse(get.get(path));
      const sha256 = await hashOf(path);
      if (!known.success) put.run(path, sha256);
      const isSame = known.data?.value === sha256;
      return { content: [{ type: "text", text: `${isSame} ${sha256}`.padEnd(1000, ".") }] };
    },
  );
  return server;
});
process.stdin.once("end", () => process.exit(0));
