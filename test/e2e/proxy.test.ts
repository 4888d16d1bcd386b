/** The built bin behind a company proxy with its own certificate authority: a whole generation through a TLS tunnel. */
import { execFile } from "node:child_process";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { BIN, NODE } from "../support/bin-under-test.ts";
import { API_KEY, FakeService } from "../support/fake-service.ts";
import { missing } from "../support/skip-because.ts";
import { createTestFolders, type TestFolders } from "../support/test-folders.ts";
import {
  type Authority,
  type CountingProxy,
  countingProxy,
  makeAuthority,
  tlsFront,
} from "../support/tls-front.ts";
import { startBinClient } from "../support/tool-client.ts";
import { generate } from "../support/tool-result.ts";

let testFolders: TestFolders;
let service: FakeService;
let authority: Authority | null = null;
let front: { port: number; close(): void };
let proxy: CountingProxy;

beforeAll(async () => {
  testFolders = await createTestFolders();
  service = await FakeService.start();
  authority = makeAuthority(testFolders.root, ["DNS:audio.test", "DNS:localhost", "IP:127.0.0.1"]);
  if (authority === null) return;
  front = await tlsFront(authority, Number(new URL(service.baseUrl).port));
  proxy = await countingProxy(() => front.port);
});
afterAll(async () => {
  front?.close();
  proxy?.close();
  await service.stop();
  await testFolders.remove();
});
const lack = missing("openssl");
beforeEach((context) => {
  context.skip(lack !== null, lack ?? "");
  proxy.tunnels.length = 0;
  proxy.plainRequests.length = 0;
});

/** Runs `doctor` and returns its output. */
function runDoctor(env: Record<string, string>): Promise<string> {
  return new Promise((resolve) => {
    execFile(NODE, [BIN, "doctor"], { env }, (_error, stdout) => resolve(stdout));
  });
}

const trusting = (env: Record<string, string>, baseUrl: string): Record<string, string> =>
  testFolders.env({ baseUrl, apiKey: API_KEY }, { NODE_EXTRA_CA_CERTS: authority?.file ?? "", ...env });

describe("HTTPS_PROXY", () => {
  it("is used for a whole generation with a host that only the proxy can resolve", async () => {
    const url = new URL(proxy.url);
    url.username = "reader";
    url.password = "proxy secret";
    const client = await startBinClient(trusting({ HTTPS_PROXY: url.href }, "https://audio.test"));
    const task = await generate(client, { prompt: "Through the tunnel" });
    expect(task.status).toBe("succeeded");
    expect(await testFolders.outputNames()).toHaveLength(1);
    expect([service.count("create"), service.count("content")]).toEqual([1, 1]);
    expect(new Set(proxy.tunnels.map(({ target }) => target))).toEqual(new Set(["audio.test:443"]));
    const basic = `Basic ${Buffer.from("reader:proxy secret").toString("base64")}`;
    expect(proxy.tunnels.every(({ authorization }) => authorization === basic)).toBe(true);
    // The service received the key, and the proxy saw only ciphertext.
    expect(service.exchanges[0]?.headers.authorization).toBe(`Bearer ${API_KEY}`);
    expect(service.exchanges.some(({ headers }) => "proxy-authorization" in headers)).toBe(false);
    expect(proxy.overheard()).not.toContain(API_KEY);
    expect(proxy.overheard()).not.toContain("Through the tunnel");
    expect(proxy.plainRequests).toEqual([]);
    await client.close();
  });

  it.each(["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"])("is taken from %s", async (name) => {
    expect(await runDoctor(trusting({ [name]: proxy.url }, "https://audio.test"))).toContain("✓ key");
    expect(proxy.tunnels).toHaveLength(1);
  });

  it("is never used for plain http, which it could read", async () => {
    const env = { HTTPS_PROXY: proxy.url, HTTP_PROXY: proxy.url };
    expect(await runDoctor(trusting(env, service.baseUrl))).toContain("✓ key");
    expect([proxy.tunnels, proxy.plainRequests]).toEqual([[], []]);
  });

  it("does not make an invalid certificate valid", async () => {
    const before = service.exchanges.length;
    const { NODE_EXTRA_CA_CERTS: _, ...env } = trusting({ HTTPS_PROXY: proxy.url }, "https://audio.test");
    const words = await runDoctor({ ...env, NODE_TLS_REJECT_UNAUTHORIZED: "0" });
    expect(words).toMatch(/✗ host: The certificate of audio\.test is not valid.*\n.*NODE_EXTRA_CA_CERTS/);
    expect(service.exchanges.length).toBe(before);
  });
});
