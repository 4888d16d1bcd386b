/** Certificates and proxies, with real handshakes. Skipped without the openssl command. */
import { connect } from "node:net";
import tls from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { wasNeverSent } from "../../src/api/retry.ts";
import { missing, skipBecause } from "../support/skip-because.ts";
import { failureOf } from "./failure.ts";
import {
  API_KEY,
  answer,
  clientOf,
  closeAll,
  httpServer,
  httpsServer,
  makeCertificate,
  never,
  rawServer,
  task,
} from "./loopback.ts";

const trusted = makeCertificate("127.0.0.1", "IP:127.0.0.1");
const untrusted = makeCertificate("127.0.0.1", "IP:127.0.0.1");
const misnamed = makeCertificate("other.example", "DNS:other.example");

afterEach(closeAll);

describe("https", skipBecause(missing("openssl")), () => {
  const bundled = tls.getCACertificates("default");
  const must = <T>(value: T | null): T => {
    if (value === null) throw new Error("no certificate");
    return value;
  };

  beforeAll(() => {
    tls.setDefaultCACertificates([...bundled, must(trusted).cert, must(misnamed).cert]);
  });
  afterAll(() => {
    tls.setDefaultCACertificates(bundled);
  });

  it("talks to a service whose certificate is valid", async () => {
    const { url } = await httpsServer(must(trusted), (_request, response) => answer(response, 202, task()));
    expect((await clientOf(url).submit("{}", "k", never())).taskId).toBe("task-1");
  });

  it.each([
    ["is signed by nobody we know", untrusted],
    ["belongs to another host", misnamed],
  ])("sends and retries nothing if the certificate %s", async (_what, certificate) => {
    let requests = 0;
    const { url } = await httpsServer(must(certificate), (_request, response) => {
      requests += 1;
      answer(response, 202, task());
    });
    process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";
    try {
      const failure = await failureOf(clientOf(url).submit("{}", "k", never()));
      expect(failure).toMatchObject({ code: "network_error", retryable: false });
      expect(failure.message).toMatch(/certificate .* is not valid/);
      expect(wasNeverSent(failure)).toBe(true);
      expect(requests).toBe(0);
    } finally {
      delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
    }
  });

  it("is a network_error, never sent, if the other side does not speak TLS", async () => {
    const { url } = await httpServer((_request, response) => answer(response, 202, task()));
    const failure = await failureOf(clientOf(url.replace("http:", "https:")).submit("{}", "k", never()));
    expect(failure.code).toBe("network_error");
    expect(wasNeverSent(failure)).toBe(true);
  });

  it("tunnels through the proxy, which never sees the key", async () => {
    const service = await httpsServer(must(trusted), (_request, response) => {
      response.writeContinue();
      answer(response, 202, task());
    });
    let overheard = "";
    const proxy = await rawServer((socket, head) => {
      overheard += head;
      const upstream = connect(service.port, "127.0.0.1", () => {
        socket.write("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 Connection established\r\n\r\n");
        socket.on("data", (chunk) => {
          overheard += chunk.toString("latin1");
        });
        socket.pipe(upstream).pipe(socket);
      });
      upstream.on("error", () => {});
    });
    const client = clientOf(service.url, { proxyUrl: proxy.url });
    expect((await client.submit("{}", "k", never())).taskId).toBe("task-1");
    expect(overheard).toContain(`CONNECT 127.0.0.1:${service.port}`);
    expect(overheard).not.toContain(API_KEY);
  });

  it("verifies certificates behind a proxy too", async () => {
    const service = await httpsServer(must(untrusted), (_request, response) => answer(response, 202, task()));
    const proxy = await rawServer((socket) => {
      const upstream = connect(service.port, "127.0.0.1", () => {
        socket.write("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 Connection established\r\n\r\n");
        socket.pipe(upstream).pipe(socket);
      });
      upstream.on("error", () => {});
    });
    const client = clientOf(service.url, { proxyUrl: proxy.url });
    const failure = await failureOf(client.submit("{}", "k", never()));
    expect(failure).toMatchObject({ code: "network_error", retryable: false });
    expect(wasNeverSent(failure)).toBe(true);
  });

  it("uses no proxy of the environment that the configuration does not contain", async () => {
    const service = await httpsServer(must(trusted), (_request, response) => answer(response, 202, task()));
    process.env["HTTPS_PROXY"] = "http://127.0.0.1:1";
    try {
      expect((await clientOf(service.url).submit("{}", "k", never())).taskId).toBe("task-1");
    } finally {
      delete process.env["HTTPS_PROXY"];
    }
  });
});

describe("a proxy that refuses the connection", () => {
  it.each([
    ["407 Proxy Authentication Required", false],
    ["502 Bad Gateway", true],
  ])("is a network_error after %s, and nothing was sent", async (status, retryable) => {
    const proxy = await rawServer((socket) => {
      socket.end(`HTTP/1.1 ${status}\r\ncontent-length: 0\r\n\r\n`);
    });
    const client = clientOf("https://audio.example", {
      proxyUrl: proxy.url,
    });
    const failure = await failureOf(client.submit("{}", "k", never()));
    expect(failure).toMatchObject({ code: "network_error", retryable });
    expect(failure.message).toContain("proxy");
    expect(wasNeverSent(failure)).toBe(true);
  });

  it("is a network_error when it hangs up, and nothing was sent", async () => {
    const proxy = await rawServer((socket) => socket.destroy());
    const client = clientOf("https://audio.example", {
      proxyUrl: proxy.url,
    });
    const failure = await failureOf(client.submit("{}", "k", never()));
    expect(failure).toMatchObject({ code: "network_error", retryable: true });
    expect(wasNeverSent(failure)).toBe(true);
  });

  it("is a timeout when it never answers, and nothing was sent", async () => {
    const proxy = await rawServer(() => {});
    const client = clientOf("https://audio.example", {
      proxyUrl: proxy.url,
      timeouts: { submitMs: 200 },
    });
    const failure = await failureOf(client.submit("{}", "k", never()));
    expect(failure).toMatchObject({ code: "timeout", retryable: true });
    expect(wasNeverSent(failure)).toBe(true);
  });
});
