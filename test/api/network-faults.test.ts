/** Single requests over connections that break, stall or send nonsense. */
import type { Socket } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { networkError } from "../../src/api/network-error.ts";
import { wasNeverSent } from "../../src/api/retry.ts";
import { systemClock } from "../../src/clock.ts";
import { AudioError } from "../../src/errors.ts";
import { failureOf } from "./failure.ts";
import {
  answer,
  clientOf,
  closeAll,
  httpServer,
  never,
  rawServer,
  readAll,
  silentServer,
  task,
} from "./loopback.ts";

afterEach(closeAll);

const SHORT = { submitMs: 200, queryMs: 200, contentHeadersMs: 200, idleBodyMs: 200, connectMs: 200 };

/** Time limits for a body that stops after its headers. The limit for headers is long, because machines may be busy. */
const SHORT_BODY = { ...SHORT, contentHeadersMs: 5000 };

const wire = (status: string, headers: Record<string, string>, body: string): string =>
  `HTTP/1.1 ${status}\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("")}\r\n${body}`;

const TASK_TEXT = JSON.stringify(task());
const ACCEPTED = wire("202 Accepted", { "content-length": String(TASK_TEXT.length) }, TASK_TEXT);

describe("a request that never reached the service", () => {
  it.each(["audio.example.com", "example.org:8443"])("names the unchanged example address: %s", (host) => {
    const error = Object.assign(new Error("getaddrinfo"), { code: "ENOTFOUND" });
    expect(networkError(error, host, false)).toMatchObject({
      code: "network_error",
      retryable: false,
      message: expect.stringContaining("example address"),
      remedy: { assistant: expect.stringContaining("AUDIO_BASE_URL") },
    });
    const other = networkError(error, "audio.example.company", false);
    expect(other).toMatchObject({ retryable: true, message: expect.stringContaining("cannot be reached") });
  });

  it("says so when no TLS connection is made in time", async () => {
    const { url } = await silentServer("https");
    const failure = await failureOf(clientOf(url, { timeouts: SHORT }).submit("{}", "k", never()));
    expect(failure).toMatchObject({ code: "timeout", retryable: true });
    expect(wasNeverSent(failure)).toBe(true);
  });

  it("says so when the program is stopping", async () => {
    const service = clientOf("http://127.0.0.1:1");
    await service.close();
    const failure = await failureOf(service.submit("{}", "k", never()));
    expect(failure.code).toBe("network_error");
    expect(wasNeverSent(failure)).toBe(true);
  });
});

describe("an answer is read if before it there is", () => {
  const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n";
  it.each([
    ["an unasked 100", CONTINUE],
    ["a 100 with headers", "HTTP/1.1 100 Continue\r\nvia: 1.1 relay\r\nx: HTTP/1.1 100 Continue\r\n\r\n"],
    ["a 100 without a phrase", "HTTP/1.1 100 \r\n\r\n"],
    ["a 100 of HTTP/1.0", "HTTP/1.0 100 Continue\r\n\r\n"],
    ["a 100 that announces a close", "HTTP/1.1 100 Continue\r\nconnection: close\r\n\r\n"],
    ["a 101 that switches nothing", "HTTP/1.1 101 Switching Protocols\r\n\r\n"],
    ["a 102", "HTTP/1.1 102 Processing\r\n\r\n"],
    ["a 103 with a link", "HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\n"],
    ["an unknown 1xx", "HTTP/1.1 199 Whatever\r\n\r\n"],
    ["several", `${CONTINUE}HTTP/1.1 103 Early Hints\r\n\r\n${CONTINUE}`],
  ])("%s, in one piece and byte by byte", async (_what, interim) => {
    const { url } = await rawServer((socket, _head, connection) => {
      const text = `${interim}${ACCEPTED}`;
      if (connection === 1) return void socket.end(text);
      socket.setNoDelay(true);
      let at = 0;
      const writeNext = (): void => {
        if (at === text.length) socket.end();
        else socket.write(text.charAt(at++), () => setImmediate(writeNext));
      };
      writeNext();
    });
    const service = clientOf(url);
    expect((await service.submit("{}", "k", never())).taskId).toBe("task-1");
    expect((await service.submit("{}", "k", never())).taskId).toBe("task-1");
  });

  it("a 100 on a connection that is used again, and the bytes of audio stay as they are", async () => {
    const audio = `${CONTINUE}HTTP/1.1 100 Continue${"x".repeat(100_000)}${CONTINUE}`;
    const ports = new Set<number | undefined>();
    const { url } = await httpServer((request, response) => {
      ports.add(request.socket.remotePort);
      response.writeContinue();
      response.writeProcessing();
      response.writeContinue();
      if (request.url?.endsWith("/content") === true)
        response.writeHead(200, { "content-type": "audio/mpeg" }).end(audio);
      else answer(response, 202, task());
    });
    const service = clientOf(url);
    for (let count = 0; count < 3; count += 1) {
      await service.submit("{}", "k", never());
      const content = await service.openContent("task-1", 0, never());
      expect(Buffer.concat(await readAll(content.body)).toString()).toBe(audio);
    }
    expect(ports.size).toBeLessThan(6);
  });
});

it("leaves a connection on which the service would wait for an hour", async () => {
  const ports = new Set<number | undefined>();
  const { url } = await httpServer((request, response) => {
    ports.add(request.socket.remotePort);
    response.setHeader("keep-alive", "timeout=3600");
    answer(response, 202, task());
  });
  const service = clientOf(url);
  const wall = vi.spyOn(systemClock, "wallMs");
  const sleptMs = [0, 5000, 3_600_000, 3_601_000];
  for (const ms of sleptMs) {
    wall.mockReturnValue(1_800_000_000_000 + ms);
    await service.submit("{}", "k", never());
    // The connection is free a moment after the answer.
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  wall.mockRestore();
  expect(ports.size).toBe(2);
});

it.each([
  new TypeError("x is not a function"),
  new RangeError("Invalid array length"),
  Object.assign(new TypeError("bad"), { code: "ERR_INVALID_ARG_TYPE" }),
  Object.assign(new Error("invalid header"), { code: "UND_ERR_INVALID_ARG" }),
  Object.assign(new Error("not found"), { code: "ERR_MODULE_NOT_FOUND" }),
  new Error("something that nobody foresaw"),
  "no error at all",
])("a bug in this program is thrown unchanged: %s", (mistake) => {
  expect(networkError(mistake, "host", true)).toBe(mistake);
});

describe("a request that may have reached the service", () => {
  it("uses the status of a response whose body is cut off, if the status is sufficient", async () => {
    const { url } = await rawServer((socket, head) => {
      const status = head.startsWith("POST") ? "401 X" : "404 X";
      socket.end(wire(status, { "content-length": "100" }, "{"));
    });
    const service = clientOf(url);
    expect((await failureOf(service.submit("{}", "k", never()))).code).toBe("invalid_api_key");
    // A 404 means `not_found` only with an error body of the contract. A 404 without it may come from a gateway.
    const broken = await failureOf(service.query("task-1", never()));
    expect(broken).toMatchObject({ code: "network_error", retryable: true });
  });

  it("counts as answered after a complete response, whatever the service sends afterwards", async () => {
    const { url } = await rawServer((socket) => socket.write(`${ACCEPTED}and more`));
    const service = clientOf(url);
    for (let round = 0; round < 3; round += 1) {
      expect((await service.submit("{}", `k${round}`, never())).taskId).toBe("task-1");
    }
  });

  it("ignores bytes that arrived on its connection before it was sent", async () => {
    const stray = JSON.stringify(task({ id: "task-stray" }));
    const [before, after] = [stray.slice(0, 20), stray.slice(20)];
    const strayAnswer = wire("202 Accepted", { "content-length": String(stray.length) }, "");
    const sockets: Socket[] = [];
    const { url } = await rawServer((socket) => {
      sockets.push(socket);
      socket.write(ACCEPTED);
      socket.on("data", () => socket.write(`${strayAnswer}${before}${after}`));
    });
    const service = clientOf(url);
    expect((await service.submit("{}", "k1", never())).taskId).toBe("task-1");
    // Sends the start of a response that nobody requested, while the connection is idle.
    sockets[0]?.write(before);
    await expect.poll(() => sockets[0]?.destroyed).toBe(true);
    expect((await service.submit("{}", "k2", never())).taskId).toBe("task-1");
    expect(sockets).toHaveLength(2);
  });

  it("succeeds after the service closed an idle connection", async () => {
    const sockets: (Socket | null)[] = [];
    const server = await httpServer((_request, response) => {
      sockets.push(response.socket);
      answer(response, 200, task());
    });
    const service = clientOf(server.url);
    for (let round = 0; round < 3; round += 1) {
      expect((await service.query("task-1", never())).status).toBe("queued");
      sockets[round]?.end();
      // Wait until the client has closed its side too. Only then is the server's socket closed.
      await expect.poll(() => sockets[round]?.closed).toBe(true);
    }
    expect(new Set(sockets).size).toBe(3);
  });
});

describe("a body of audio", () => {
  /**
   * Starts a server that announces 9 MB of audio, sends 8 MB, and then sends nothing more. A connection buffers less
   * than 8 MB, so the server cannot send the whole 8 MB before the client reads.
   */
  const stopping = (): Promise<{ url: string }> =>
    rawServer((socket) => {
      const head = { "content-type": "application/octet-stream", "content-length": "9000000" };
      socket.write(wire("200 OK", head, "") + "x".repeat(8_000_000));
    });

  it("fails when no byte arrives for too long, even if its reader has paused for longer than that", async () => {
    const { url } = await stopping();
    const { body } = await clientOf(url, { timeouts: SHORT_BODY }).openContent("task-1", 0, never());
    const chunks = body[Symbol.asyncIterator]();
    await chunks.next();
    await new Promise((resolve) => setTimeout(resolve, 3 * SHORT.idleBodyMs));
    const failure = await failureOf(readAll({ [Symbol.asyncIterator]: () => chunks }));
    expect(failure).toMatchObject({ code: "timeout", retryable: true });
  });

  it("does not count the time in which its reader paused", async () => {
    const idleBodyMs = 2000;
    const { url } = await rawServer((socket) => {
      const head = { "content-type": "application/octet-stream", "content-length": "5" };
      socket.write(wire("200 OK", head, "so"));
      setTimeout(() => socket.write("far"), 3000);
    });
    const { body } = await clientOf(url, { timeouts: { ...SHORT_BODY, idleBodyMs } }).openContent(
      "task-1",
      0,
      never(),
    );
    const chunks = body[Symbol.asyncIterator]();
    const first = await chunks.next();
    await new Promise((resolve) => setTimeout(resolve, 1700));
    const rest = await readAll({ [Symbol.asyncIterator]: () => chunks });
    expect(Buffer.concat([first.value ?? Buffer.alloc(0), ...rest]).toString()).toBe("sofar");
  });

  it("can be discarded unread", async () => {
    let isClosed = false;
    const { url } = await rawServer((socket) => {
      socket.on("close", () => {
        isClosed = true;
      });
      socket.write(
        wire("200 OK", { "content-type": "application/octet-stream", "content-length": "100000" }, "some"),
      );
    });
    (await clientOf(url).openContent("task-1", 0, never())).discard();
    await expect.poll(() => isClosed).toBe(true);
  });
});

describe("the caller's signal", () => {
  const reason = new Error("the caller left");

  it("rejects with its reason while connecting, without waiting for the connection", async () => {
    const { url } = await silentServer("https");
    const controller = new AbortController();
    const pending = clientOf(url).query("task-1", controller.signal);
    setTimeout(() => controller.abort(reason), 30);
    const startedAt = performance.now();
    await expect(pending).rejects.toBe(reason);
    expect(performance.now() - startedAt).toBeLessThan(5000);
  });

  it("rejects with its reason while waiting for headers, while reading JSON and while reading audio", async () => {
    const { url } = await rawServer((socket, head) => {
      if (head.startsWith("POST")) return;
      socket.write(
        wire("200 OK", { "content-type": "application/octet-stream", "content-length": "1000" }, "{"),
      );
    });
    const service = clientOf(url);
    const leaveSoon = (): AbortSignal => {
      const controller = new AbortController();
      setTimeout(() => controller.abort(reason), 30);
      return controller.signal;
    };
    await expect(service.submit("{}", "k", leaveSoon())).rejects.toBe(reason);
    await expect(service.query("task-1", leaveSoon())).rejects.toBe(reason);
    const controller = new AbortController();
    const { body } = await service.openContent("task-1", 0, controller.signal);
    setTimeout(() => controller.abort(reason), 30);
    await expect(readAll(body)).rejects.toBe(reason);
  });

  it("takes precedence over a status that it interrupts", async () => {
    const { url } = await rawServer((socket) => {
      socket.write(wire("401 No", { "content-length": "1000" }, "{"));
    });
    const controller = new AbortController();
    const overdue = new AudioError("timeout", "the caller's own deadline");
    setTimeout(() => controller.abort(overdue), 50);
    await expect(clientOf(url).submit("{}", "k", controller.signal)).rejects.toBe(overdue);
  });
});

it("aborts all transfers when it is closed", async () => {
  const { url } = await rawServer(() => {});
  const service = clientOf(url);
  const pending = failureOf(service.query("task-1", never()));
  await new Promise((resolve) => setTimeout(resolve, 30));
  await service.close();
  expect((await pending).code).toBe("network_error");
});
