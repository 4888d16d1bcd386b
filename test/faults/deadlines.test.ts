/** A service stalls in any phase: the phase's deadline passes, and the work continues. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { RequestTimeouts } from "../../src/api/transport.ts";
import { composeWorkflow, type Workflow } from "../../src/commands/compose.ts";
import { readConfig } from "../../src/config/config.ts";
import { createLog } from "../../src/log.ts";
import type { RequestView } from "../../src/requests/request-view.ts";
import type { Requests } from "../../src/requests/requests.ts";
import { FakeService } from "../support/fake-service.ts";
import { type Misbehaviour, misbehaveNext } from "./wire.ts";

/** Deadlines between 1/30 and 1/200 of the usual ones. The rest of the workflow is the real one. */
const SHORT: RequestTimeouts = {
  connectMs: 300,
  submitMs: 300,
  queryMs: 300,
  contentHeadersMs: 300,
  idleBodyMs: 300,
};

let service: FakeService;
let workflow: Workflow;
let requests: Requests;
let root: string;

beforeEach(async () => {
  service = await FakeService.start();
  root = await mkdtemp(join(tmpdir(), "agm-deadline-"));
  const config = readConfig({
    AUDIO_BASE_URL: service.baseUrl,
    AUDIO_API_KEY: service.apiKey,
    AUDIO_OUTPUT_DIR: join(root, "out"),
    AUDIO_STATE_DIR: join(root, "state"),
    AUDIO_TIME_SCALE: "0.001",
  });
  if (config.serviceAccess === null) throw new Error("the settings of this test are wrong");
  const log = createLog("silent", (text) => text);
  workflow = await composeWorkflow(config, config.serviceAccess, log, SHORT);
  requests = workflow.requests;
});
afterEach(async () => {
  await workflow.close();
  await service.stop();
  await rm(root, { recursive: true, force: true });
});

async function generate(prompt: string): Promise<RequestView> {
  const call = { signal: new AbortController().signal, waitMs: 15_000, onProgress: () => undefined };
  const request = {
    ...{ input: { prompt }, take: 1, fileName: null, mayReplace: false },
    ...{ callPronunciations: [], pronunciations: [] },
  };
  return await requests.generate(request, call);
}

/** A stall ends after this time, so that a client without deadlines fails the test and does not hang it. */
const STALL_MS = 12_000;

const silence: Misbehaviour = () => undefined;

/** Sends a head and then single bytes, too slowly to complete the answer before the deadline. */
const trickle =
  (head: string): Misbehaviour =>
  (response) => {
    const { socket } = response;
    socket?.write(head);
    const drip = setInterval(() => socket?.write(" "), 40);
    setTimeout(() => clearInterval(drip), STALL_MS).unref();
    socket?.on("close", () => clearInterval(drip)).on("error", () => undefined);
  };

const stallsAfter =
  (bytes: number): Misbehaviour =>
  (response, exchange, self) => {
    const audio = self.tasks.get(exchange.taskId ?? "")?.audio ?? Buffer.alloc(0);
    response.writeHead(200, { "content-type": "application/octet-stream", "content-length": audio.length });
    response.write(audio.subarray(0, bytes));
  };

const JSON_HEAD = "HTTP/1.1 202 Accepted\r\ncontent-type: application/json\r\ncontent-length: 99999\r\n\r\n";

it.each<[string, "create" | "query" | "content", Misbehaviour]>([
  ["before the headers of a 202", "create", silence],
  ["in the body of a 202, a byte at a time", "create", trickle(JSON_HEAD)],
  ["in the headers of a 202, a byte at a time", "create", trickle("HTTP/1.1 202 Accepted\r\nx: ")],
  ["before the headers of a query", "query", silence],
  ["in the body of a query, byte by byte", "query", trickle(JSON_HEAD.replace("202 Accepted", "200 OK"))],
  ["before the headers of the audio", "content", silence],
  ["before the first byte of the audio", "content", stallsAfter(0)],
  ["in the middle of the audio", "content", stallsAfter(7000)],
])(
  "a service that stalls %s is repeated after its deadline; one task, the whole audio",
  async (_where, kind, misbehaviour) => {
    service.intercept = misbehaveNext(kind, (response, exchange, self) => {
      if (kind === "create") self.accept(exchange);
      return misbehaviour(response, exchange, self);
    });
    const begunAtMs = performance.now();
    const view = await generate("Stalled");
    expect(performance.now() - begunAtMs).toBeLessThan(STALL_MS);
    const [task] = service.tasks.values();
    expect((await readFile(view.audio?.path ?? "")).equals(task?.audio ?? Buffer.alloc(0))).toBe(true);
    expect(service.tasks.size).toBe(1);
    expect(service.count(kind)).toBeGreaterThanOrEqual(2);
    expect(new Set(service.exchanges.flatMap(({ key }) => key ?? [])).size).toBe(1);
  },
);

it("a service that stalls in every submission is waited for no longer than the recovery timeout", async () => {
  service.intercept = misbehaveNext("create", silence, 1000);
  await expect(generate("Never answered")).rejects.toMatchObject({ code: "timeout", retryable: true });
  expect(new Set(service.exchanges.map(({ key }) => key)).size).toBe(1);
});
