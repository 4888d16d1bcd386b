/** Starting and stopping the sandbox: what is refused, and what is closed. */
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { describe, expect, it, onTestFinished } from "vitest";
import { type SandboxOptions, SandboxUsageError, startSandbox } from "../../src/sandbox/sandbox.ts";
import { SHORT_INPUT } from "../contract/service-client.ts";
import { startTestSandbox } from "./test-sandbox.ts";
import { TinySpeech } from "./tiny-speech.ts";

describe("starting", () => {
  it("refuses a taken port in one sentence, and leaves nothing open", async () => {
    const occupiedPort = createServer().listen(0, "127.0.0.1");
    await once(occupiedPort, "listening");
    onTestFinished(() => void occupiedPort.close());
    const address = occupiedPort.address();
    const port = typeof address === "object" ? (address?.port ?? 0) : 0;
    const speech = new TinySpeech();
    await expect(startSandbox({ port, speech })).rejects.toThrow(
      new SandboxUsageError(`Port ${port} on 127.0.0.1 is already in use.`),
    );
    expect(speech.closed).toBe(true);
  });

  it.each([
    ["a port above 65535", { port: 70_000 }],
    ["half a port", { port: 1.5 }],
    ["a negative processing time", { processingSeconds: -1 }],
    ["no number for a processing time", { processingSeconds: Number.NaN }],
    ["a time scale of 0", { timeScale: 0 }],
    ["a time scale above 1", { timeScale: 2 }],
    ["accounts without accounts", { accounts: { accounts: [] } }],
  ] as const)("refuses %s", async (_, options) => {
    const sandboxOptions: SandboxOptions = "accounts" in options ? { accounts: { accounts: [] } } : options;
    await expect(startSandbox({ speech: new TinySpeech(), ...sandboxOptions })).rejects.toThrow(
      SandboxUsageError,
    );
  });

  it("listens on loopback alone", async () => {
    const { sandbox } = await startTestSandbox();
    const { hostname, port } = new URL(sandbox.baseUrl);
    expect(hostname).toBe("127.0.0.1");
    const outside = Object.values(networkInterfaces())
      .flatMap((list) => list ?? [])
      .filter((entry) => !entry.internal && entry.family === "IPv4");
    for (const { address } of outside) {
      const socket = connect({ host: address, port: Number(port) });
      const [error] = await once(socket, "error");
      expect(error).toMatchObject({ code: "ECONNREFUSED" });
    }
  });
});

it("stopping closes open connections at once, ends the engine", async () => {
  const { sandbox, client, speech } = await startTestSandbox();
  await client.created({ prompt: "[hangs]" });
  await client.created(SHORT_INPUT);
  const idle = connect({ host: "127.0.0.1", port: Number(new URL(sandbox.baseUrl).port) });
  await once(idle, "connect");
  const half = connect({ host: "127.0.0.1", port: Number(new URL(sandbox.baseUrl).port) });
  half.write("POST /api/v1/audio/generations HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf");
  await once(half, "connect");
  const closed = Promise.all(
    [idle, half].map(
      (socket) =>
        new Promise<void>((resolve) => {
          // The sandbox may also end the connection by a reset.
          socket
            .on("error", () => undefined)
            .on("close", () => resolve())
            .resume();
        }),
    ),
  );
  const startMs = performance.now();
  await sandbox.stop();
  // If the sandbox waited for the clients, stopping would take five seconds or more.
  expect(performance.now() - startMs).toBeLessThan(4000);
  await closed;
  expect(speech.closed).toBe(true);
});
