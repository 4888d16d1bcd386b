/** A submission fails on its way: there is one task and one charge, whatever breaks. */
import type { ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { makeCertificate } from "../api/loopback.ts";
import { type Exchange, FakeService } from "../support/fake-service.ts";
import { freePort } from "../support/free-port.ts";
import { missing, skipBecause } from "../support/skip-because.ts";
import { errorOf, generate, resultTextOf, taskOf } from "../support/tool-result.ts";
import { closeAfterEach, type FaultSetup, openFaultSetup, shareFaultSetup } from "./fault-setup.ts";
import {
  acceptSubmission,
  answerGzip,
  answerText,
  latePort,
  type Misbehaviour,
  rawAnswer,
  sayAndHangUp,
} from "./wire.ts";

closeAfterEach();

/** Expects that a broken answer leads to one repeat with the same idempotency key and bytes, and to one task. */
async function expectOneTask(setup: FaultSetup, prompt: string): Promise<void> {
  const task = await generate(setup.server, { prompt });
  expect(task.status).toBe("succeeded");
  expect(setup.service.tasks.size).toBe(1);
  const submissions = setup.service.exchanges.filter(({ kind }) => kind === "create");
  expect(submissions.length).toBe(2);
  expect(new Set(submissions.map(({ key }) => key)).size).toBe(1);
  expect(new Set(submissions.map(({ body }) => body)).size).toBe(1);
  expect(task.billing).toMatchObject({ reserved_credits: 150, charged_credits: 10 });
}

type Breakage = (response: ServerResponse, task: Record<string, unknown>, exchange: Exchange) => unknown;

const json = (value: unknown): string => JSON.stringify(value);

/** In each row, the service has accepted the submission, and only the answer is damaged. */
const BREAKAGES: Array<[string, Breakage]> = [
  ["is reset after the body was sent", (response) => sayAndHangUp(response, "", true)],
  ["is closed without an answer", (response) => sayAndHangUp(response, "")],
  ["ends in the middle of the headers", (response) => sayAndHangUp(response, "HTTP/1.1 202 Acc")],
  [
    "ends in the middle of a 202",
    (r, task) => sayAndHangUp(r, rawAnswer("202 A", json(task).slice(0, 40), [], 400)),
  ],
  ["ends in a chunk", (r) => sayAndHangUp(r, "HTTP/1.1 202 A\r\ntransfer-encoding: chunked\r\n\r\nff\r\n{")],
  ["is reset after a 103", (response) => sayAndHangUp(response, "HTTP/1.1 103 Early Hints\r\n\r\n", true)],
  ["speaks another protocol", (response) => sayAndHangUp(response, "SSH-2.0-OpenSSH_9.9\r\n")],
  ["contradicts its length", (r, t) => sayAndHangUp(r, rawAnswer("202 A", json(t), ["content-length: 7"]))],
  [
    "is an HTML page with 502",
    (r) => answerText(r, 502, "<html>Bad gateway</html>", { "content-type": "text/html" }),
  ],
  ["is an empty 500", (response) => answerText(response, 500, "")],
  ["is a 504", (response) => answerText(response, 504, "upstream timed out")],
  ["is an empty 202", (response) => answerText(response, 202, "")],
  ["is not JSON", (response) => answerText(response, 202, "accepted!")],
  ["is null", (response) => answerText(response, 202, "null")],
  ["is a list", (response, task) => answerText(response, 202, json([task]))],
  ["has a number as its id", (response, task) => answerText(response, 202, json({ ...task, id: 7 }))],
  ["has a path as its id", (response, task) => answerText(response, 202, json({ ...task, id: "../../etc" }))],
  ["has no id", (response, task) => answerText(response, 202, json({ ...task, id: undefined }))],
  ["is not UTF-8", (response) => answerText(response, 202, Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22]))],
  ["comes compressed", (response, task) => answerGzip(response, 202, task)],
  ["is megabytes long", (r, task) => answerText(r, 202, json({ ...task, padding: "x".repeat(2 ** 21) }))],
  ["is a 204", (response) => response.writeHead(204).end()],
];

describe("one task and one charge, when the answer to the create", () => {
  const shared = shareFaultSetup();
  it.each(BREAKAGES)("%s", async (title, breakage) => {
    const setup = shared();
    setup.misbehaveNext("create", (response, exchange, service) => {
      breakage(response, service.view(acceptSubmission(service, exchange), true), exchange);
    });
    await expectOneTask(setup, `Told once: ${title}`);
  });
});

describe("a stated id is kept, and nothing is sent again, when the answer to the create", () => {
  const shared = shareFaultSetup();
  it.each<[string, Breakage]>([
    ["has an unknown status", (r, task) => answerText(r, 202, json({ ...task, status: "paused" }))],
    ["is 200 instead of 202", (response, task) => answerText(response, 200, json(task))],
    ["is 201 instead of 202", (response, task) => answerText(response, 201, json(task))],
  ])("%s", async (title, breakage) => {
    const setup = shared();
    setup.misbehaveAlways("create", (response, exchange, service) => {
      breakage(response, service.view(acceptSubmission(service, exchange), true), exchange);
    });
    const task = await generate(setup.server, { prompt: `Kept: ${title}` });
    expect(task).toMatchObject({ status: "succeeded", billing: { charged_credits: 10 } });
    expect(setup.service.count("create")).toBe(1);
  });
});

describe("an answer by a gateway in front of the service", () => {
  const shared = shareFaultSetup();
  const STRANGERS: Array<[string, Misbehaviour]> = [
    ["a 403 of a gateway", (response) => answerText(response, 403, "<html>blocked</html>")],
    ["a 404 of a gateway", (response) => answerText(response, 404, "<html>nothing here</html>")],
    ["a 401 with HTML", (response) => answerText(response, 401, "<html>sign in</html>")],
    ["a 400 of a firewall", (response) => answerText(response, 400, "<html>suspicious</html>")],
    ["a 402 with HTML", (response) => answerText(response, 402, "<html>pay here</html>")],
    ["an empty 409", (response) => answerText(response, 409, "")],
    ["an empty 413", (response) => answerText(response, 413, "")],
    ["a redirect", (response) => response.writeHead(307, { location: "https://example.com/" }).end()],
  ];
  it.each(STRANGERS)(
    "such as %s is reported at once; a repeat finds the task that was made nevertheless",
    async (title, otherTask) => {
      const setup = shared();
      setup.misbehaveNext("create", (response, exchange, service) => {
        acceptSubmission(service, exchange);
        otherTask(response, exchange, service);
      });
      const call = { prompt: `In between: ${title}` };
      const facts = errorOf(await setup.server.call("generate_audio", call));
      expect(["unexpected_response", "invalid_api_key"]).toContain(facts.code);
      expect(setup.service.count("create")).toBe(1);
      expect((await generate(setup.server, call)).status).toBe("succeeded");
      expect(setup.service.tasks.size).toBe(1);
    },
  );

  it("that redirects to another host is not followed: that host receives nothing", async () => {
    const elsewhere = await FakeService.start();
    const setup = shared();
    for (const [status, kind] of [
      [302, "create"],
      [307, "query"],
      [308, "content"],
    ] as const) {
      setup.misbehaveNext(kind, (response, exchange) => {
        response.writeHead(status, { location: `${elsewhere.baseUrl}${exchange.url}` }).end();
      });
      await setup.server.call("generate_audio", { prompt: `Sent elsewhere at the ${kind}`, wait_seconds: 1 });
    }
    expect(elsewhere.exchanges).toEqual([]);
    await elsewhere.stop();
  });
});

describe("an answer that is odd but means something", () => {
  const shared = shareFaultSetup();
  const ODD: Array<[string, Record<string, unknown>]> = [
    ["extra fields", { priority: "high", nested: { __proto__: null, deep: [[[[1]]]] } }],
    ["no billing", { billing: null }],
    ["billing of other sums", { billing: { reserved_credits: 1, charged_credits: 9, refunded_credits: 0 } }],
    ["another object and model", { object: "thing", model: "audio-9" }],
    ["an output of the wrong type", { output: "soon", usage: [], error: 7 }],
  ];
  it.each(ODD)("is accepted with %s: the task is known and not created again", async (title, changes) => {
    const setup = shared();
    setup.misbehaveNext("create", (response, exchange, service) => {
      service.json(response, 202, {
        ...service.view(acceptSubmission(service, exchange), true),
        ...changes,
      });
    });
    expect((await generate(setup.server, { prompt: `Odd: ${title}` })).status).toBe("succeeded");
    expect(setup.service.count("create")).toBe(1);
  });
});

describe("a service that cannot be reached", () => {
  it("and then appears gets the request once; the call succeeds as usual", async () => {
    const target = await FakeService.start();
    const late = await latePort(target.baseUrl);
    const setup = await openFaultSetup({ baseUrl: late.url });
    const call = setup.server.begin("generate_audio", { prompt: "Early bird" }, { progressToken: "p" });
    await expect.poll(() => setup.server.notifications.length, { timeout: 60_000 }).toBeGreaterThan(2);
    await late.open();
    expect(taskOf(await setup.server.outcomeOf(call)).status).toBe("succeeded");
    expect(target.count("create")).toBe(1);
    await setup.server.end();
    await late.close();
    await target.stop();
  });

  it("is network_error when the window closes, retryable and with the key that a repeat uses", async () => {
    const setup = await openFaultSetup({ baseUrl: `http://127.0.0.1:${await freePort()}` });
    const outcome = await setup.server.call("generate_audio", { prompt: "Nobody", wait_seconds: 1.5 });
    expect(errorOf(outcome)).toMatchObject({ code: "network_error", retryable: true, task_id: null });
    expect(errorOf(outcome).idempotency_key).toMatch(/^agm1-[0-9a-f]{64}$/);
    expect(resultTextOf(outcome)).toMatch(/cannot be reached \(ECONNREFUSED\)[\s\S]*Repeat the same call/);
  });

  it("because its name is unknown is an error within the window, and nothing is lost", async () => {
    const env = { AUDIO_TIME_SCALE: "1" };
    const setup = await openFaultSetup({ baseUrl: "https://no-such-host.invalid", env });
    const outcome = await setup.server.call("generate_audio", { prompt: "Where", wait_seconds: 1 });
    expect(errorOf(outcome)).toMatchObject({ retryable: true, task_id: null });
    expect(["network_error", "timeout"]).toContain(errorOf(outcome).code);
  });

  const certificate = makeCertificate("elsewhere.example", "DNS:elsewhere.example");
  it(
    "because its certificate is not valid is reported at once, and not retried",
    skipBecause(missing("openssl")),
    async () => {
      let connections = 0;
      const impostor = createSecureServer(certificate ?? {}, (_request, response) => response.end());
      impostor.on("connection", () => {
        connections += 1;
      });
      impostor.on("tlsClientError", () => undefined);
      await new Promise<void>((resolve) => impostor.listen(0, "127.0.0.1", resolve));
      const { port } = impostor.address() as AddressInfo; // the address of a TCP server is an object
      const setup = await openFaultSetup({ baseUrl: `https://127.0.0.1:${port}` });
      const outcome = await setup.server.call("generate_audio", { prompt: "Impostor" });
      expect(errorOf(outcome)).toMatchObject({ code: "network_error", retryable: false });
      expect(resultTextOf(outcome)).toMatch(/certificate .* not valid[\s\S]*NODE_EXTRA_CA_CERTS/);
      expect(connections).toBe(1);
      await new Promise((resolve) => impostor.close(resolve));
    },
  );
});

it("a service that does not answer is timeout when the window closes; the request continues under its key and is paid once", async () => {
  const setup = await openFaultSetup();
  const heldResponses: ServerResponse[] = [];
  setup.misbehaveNext("create", (response, exchange, service) => {
    acceptSubmission(service, exchange);
    heldResponses.push(response);
  });
  const call = { prompt: "Silence", wait_seconds: 0.3 };
  const outcome = await setup.server.call("generate_audio", call);
  expect(errorOf(outcome)).toMatchObject({ code: "timeout", retryable: true, task_id: null });
  await expect.poll(() => heldResponses.length, { timeout: 10_000 }).toBe(1);
  for (const response of heldResponses) response.socket?.resetAndDestroy();
  const task = await generate(setup.server, { ...call, wait_seconds: 10 });
  expect(task.status).toBe("succeeded");
  expect(setup.service.tasks.size).toBe(1);
  const polledTask = taskOf(await setup.server.call("get_task", { task_id: task.task_id }));
  expect(polledTask.idempotency_key).toBe(errorOf(outcome).idempotency_key);
});

it("a service that does not answer is retried until the recovery timeout passes, and the error says so in plain words", async () => {
  const setup = await openFaultSetup();
  setup.misbehaveAlways("create", (response) => answerText(response, 202, "???"));
  const outcome = await setup.server.call("generate_audio", { prompt: "Gibberish", wait_seconds: 15 });
  expect(errorOf(outcome)).toMatchObject({ code: "unexpected_response", task_id: null });
  expect(errorOf(outcome).idempotency_key).not.toBeNull();
  expect(new Set(setup.service.exchanges.map(({ key }) => key)).size).toBe(1);
});

it("asking twice at the same moment is one task for both", async () => {
  const setup = await openFaultSetup({ service: { processingMs: 100 } });
  const calls = [1, 2, 3].map(() => setup.server.begin("generate_audio", { prompt: "Twins" }));
  const tasks = await Promise.all(calls.map(async (id) => taskOf(await setup.server.outcomeOf(id))));
  expect(new Set(tasks.map(({ task_id }) => task_id)).size).toBe(1);
  expect(tasks.filter(({ replayed }) => !replayed).length).toBe(1);
  expect(setup.service.count("create")).toBe(1);
});

it("asking twice for more than 32 KiB is refused here, and nothing is sent", async () => {
  const setup = await openFaultSetup();
  const url = (letter: string): string => `https://example.com/${"🎧".repeat(2000)}${letter}`;
  const outcome = await setup.server.call("generate_audio", {
    prompt: "\u0001".repeat(2048),
    audio_references: [url("a"), url("b"), url("c")],
  });
  expect(errorOf(outcome)).toMatchObject({ code: "request_too_large", http_status: null });
  expect(setup.service.exchanges).toEqual([]);
});
