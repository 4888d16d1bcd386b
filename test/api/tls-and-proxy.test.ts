/** Certificates and proxies, with real handshakes. Skipped without the openssl command. */
import { connect } from "node:net";
import tls from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { wasNeverSent } from "../../src/api/retry.ts";
import type { ProxySetting } from "../../src/config/proxy.ts";
import type { AudioError } from "../../src/errors.ts";
import { missing, skipBecause } from "../support/skip-because.ts";
import { failureOf } from "./failure.ts";
import {
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

/** The setting of a proxy whose user and password must never be shown. */
const through = (url: string): ProxySetting => ({
  variable: "https_proxy",
  url: url.replace("//", "//me:pass-word@"),
});

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
    expect(failure.message).toMatch(/does not speak TLS.*AUDIO_BASE_URL/);
    expect(wasNeverSent(failure)).toBe(true);
  });

  it("says that the address must begin with https, if http reaches TLS", async () => {
    const { port } = await httpsServer(must(trusted), (_request, response) => answer(response, 202, task()));
    const closed = await failureOf(clientOf(`http://127.0.0.1:${port}`).submit("{}", "k", never()));
    expect(closed).toMatchObject({ retryable: true, message: expect.stringContaining("https://") });
    const { url } = await rawServer((socket) => socket.end(Buffer.from([0x15, 3, 1, 0, 2, 2, 22])));
    const alerted = await failureOf(clientOf(url).submit("{}", "k", never()));
    expect(alerted.message).toMatch(/speaks TLS.*AUDIO_BASE_URL must begin with https/);
  });

  it("is named as what a page in place of the service's answer may come from", async () => {
    const service = await httpsServer(must(trusted), (request, response) => {
      const status = request.method === "POST" ? 403 : 200;
      answer(response, status, "<html>Blocked</html>", { "content-type": "text/html" });
    });
    const proxy = await rawServer((socket) => {
      const upstream = connect(service.port, "127.0.0.1", () => {
        socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
        socket.pipe(upstream).pipe(socket);
      });
      upstream.on("error", () => {});
    });
    const client = clientOf(service.url, { proxy: through(proxy.url) });
    const sentence = `It may come from the proxy 127.0.0.1:${proxy.port} (https_proxy) on the way.`;
    expect((await failureOf(client.submit("{}", "k", never()))).message).toContain(sentence);
    expect((await failureOf(client.query("task-1", never()))).message).toContain(sentence);
    const direct = await failureOf(clientOf(service.url).query("task-1", never()));
    expect(direct.message).toBe("The service's answer is not JSON.");
  });
});

describe("a proxy that opens no connection is named without its password, with its setting, if it", () => {
  const PAGE = "content-type: text/html\r\n\r\n<!DOCTYPE html><title>Sign in</title>";
  it.each<[string, string | null, RegExp]>([
    ["wants a password", "HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n", /407/],
    ["refuses the host with a page", `HTTP/1.1 403 Forbidden\r\n${PAGE}`, /refused .*403/],
    ["cannot reach the host", "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n", /refused .*502/],
    ["answers with a page instead of a tunnel", `HTTP/1.1 200 OK\r\n${PAGE}`, /page to sign in/],
    ["is no HTTP server", "SSH-2.0-OpenSSH_9.6\r\n\r\n", /something else/],
    ["closes", "", /closed the connection/],
    ["closes in its answer", "HTTP/1.1 2", /closed the connection/],
    ["closes its tunnel", "HTTP/1.1 200 OK\r\n\r\n", /closed the connection/],
    ["never answers", null, /did not answer in time/],
  ])("%s", async (_what, text, reason) => {
    const { url, port } = await rawServer((socket) => {
      if (text !== null) socket.end(text);
    });
    const options = { proxy: through(url), timeouts: { connectMs: text === null ? 200 : 5000 } };
    expectBlamed(
      await failureOf(clientOf(HOST, options).submit("{}", "k", never())),
      `127.0.0.1:${port}`,
      reason,
    );
  });

  it.each([
    ["does not run", "http://127.0.0.1:1", /cannot be reached \(ECONNREFUSED\)/],
    ["has no such name", "http://no-such-proxy.invalid", /cannot be reached \(E\w+\)|in time/],
  ])("%s", async (_what, url, reason) => {
    const failure = await failureOf(clientOf(HOST, { proxy: through(url) }).submit("{}", "k", never()));
    expectBlamed(failure, new URL(url).host, reason);
  });

  it("is not reached by TLS", async () => {
    const { port } = await httpServer((_request, response) => answer(response, 202, task()));
    const proxy = through(`https://127.0.0.1:${port}`);
    const failure = await failureOf(clientOf(HOST, { proxy }).submit("{}", "k", never()));
    expectBlamed(failure, `127.0.0.1:${port}`, /something else/);
  });
});

const HOST = "https://audio.test:8443";

function expectBlamed(failure: AudioError, proxyHost: string, reason: RegExp): void {
  expect(failure.message).toContain(`The proxy ${proxyHost} (https_proxy) on the way to audio.test:8443 `);
  expect(failure.message).toMatch(reason);
  const isDenied = failure.message.includes("(407)");
  expect(failure).toMatchObject({
    code: failure.message.includes("in time") ? "timeout" : "network_error",
    retryable: !isDenied,
    remedy: {
      assistant: expect.stringMatching(
        isDenied ? /https_proxy/ : /https_proxy.*audio\.test:8443 in NO_PROXY/,
      ),
    },
  });
  expect(JSON.stringify([failure.message, failure.remedy])).not.toContain("pass-word");
  expect(wasNeverSent(failure)).toBe(true);
}
