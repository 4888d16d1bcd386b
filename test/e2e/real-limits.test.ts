/** Makes eight requests in a row to a sandbox that enforces the contract's limits. The sandbox refuses none of them. */
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type RunningSandbox, startSandbox } from "../../src/sandbox/sandbox.ts";
import { createTestFolders, type TestFolders } from "../support/test-folders.ts";
import { startToolClient, type ToolClient } from "../support/tool-client.ts";
import { taskOf } from "../support/tool-result.ts";

/** In the server and in the sandbox, limit windows take 1.2 s instead of 60 s. */
const SCALE = 0.02;

let sandbox: RunningSandbox;
let watcher: Server;
let testFolders: TestFolders;
let client: ToolClient;
const statuses: number[] = [];
let submissions = 0;

/** Starts a proxy between the server and the sandbox, which records each status and counts submissions. */
function watch(target: string): Promise<Server> {
  const server = createServer((incoming, outgoing) => {
    if (incoming.method === "POST") submissions += 1;
    const onward = request(
      new URL(incoming.url ?? "/", target),
      { method: incoming.method, headers: { ...incoming.headers, host: new URL(target).host } },
      (answer) => {
        statuses.push(answer.statusCode ?? 0);
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      },
    );
    onward.on("error", () => outgoing.destroy());
    incoming.pipe(onward);
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

beforeAll(async () => {
  sandbox = await startSandbox({ processingSeconds: 0.05, timeScale: SCALE });
  watcher = await watch(sandbox.baseUrl);
  const { port } = watcher.address() as AddressInfo; // not a string, because the proxy listens on TCP
  testFolders = await createTestFolders();
  const service = { baseUrl: `http://127.0.0.1:${port}`, apiKey: sandbox.apiKey };
  client = await startToolClient(testFolders.env(service, { AUDIO_TIME_SCALE: String(SCALE) }));
});
afterAll(async () => {
  await client.close();
  watcher.closeAllConnections();
  watcher.close();
  await sandbox.stop();
  await testFolders.remove();
});

it("eight requests in a row finish without any 429", async () => {
  const beganAt = performance.now();
  for (let number = 1; number <= 8; number += 1) {
    const task = taskOf(await client.call("generate_audio", { prompt: `Narration number ${number}.` }));
    expect(task).toMatchObject({ status: "succeeded", replayed: false });
  }
  expect(submissions).toBe(8);
  expect(statuses.filter((status) => status >= 400)).toEqual([]);
  // The seventh submission had to wait for the end of the first window. This shows that the server kept the limits.
  expect(performance.now() - beganAt).toBeGreaterThan(60_000 * SCALE);
});
