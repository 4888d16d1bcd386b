/** Redis servers of a test's own: on free loopback ports, in temporary folders, ended by their ids. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createConnection, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Why Redis cannot be tested here, or `undefined`. In CI a missing server is a failure, not a reason. */
export function whyNoRedis(): string | undefined {
  const probe = spawnSync("redis-server", ["--version"], { stdio: "ignore" });
  if (probe.error === undefined && probe.status === 0) return undefined;
  const why = "redis-server is not installed: the tests of the shared store are skipped";
  if (process.env["CI"] === "true") throw new Error(why);
  process.stderr.write(`${why}\n`);
  return why;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port was given");
  return address.port;
}

export interface RedisSettings {
  readonly password?: string;
  /** As on its command line. */
  readonly more?: readonly string[];
  /** Files of a key and its certificate: it then speaks TLS on its port, and nothing else. */
  readonly tls?: { readonly key: string; readonly certificate: string };
}

export class RedisServer {
  readonly port: number;
  readonly #folder = mkdtempSync(join(tmpdir(), "agm-redis-"));
  readonly #settings: RedisSettings;
  #process: ChildProcess | undefined;

  private constructor(port: number, settings: RedisSettings) {
    this.port = port;
    this.#settings = settings;
  }

  static async start(settings: RedisSettings = {}): Promise<RedisServer> {
    const server = new RedisServer(await freePort(), settings);
    await server.start();
    return server;
  }

  get url(): string {
    const scheme = this.#settings.tls === undefined ? "redis" : "rediss";
    return `${scheme}://127.0.0.1:${this.port}`;
  }

  /** Starts it, again on the same port and with what it had written. */
  async start(): Promise<void> {
    const { password, more = [], tls } = this.#settings;
    const port = String(this.port);
    const ports = tls === undefined ? ["--port", port] : ["--port", "0", "--tls-port", port];
    const files = tls === undefined ? [] : ["--tls-key-file", tls.key, "--tls-cert-file", tls.certificate];
    const trust = tls === undefined ? [] : ["--tls-auth-clients", "no"];
    const settings = [...ports, ...files, ...trust, "--bind", "127.0.0.1", "--dir", this.#folder];
    // `always`: by default a write may wait for a running fsync, and a kill then loses what was acknowledged.
    const durable = ["--save", "", "--appendonly", "yes", "--appendfsync", "always"];
    const secret = password === undefined ? [] : ["--requirepass", password];
    this.#process = spawn("redis-server", [...settings, ...durable, ...secret, ...more], { stdio: "ignore" });
    for (let tries = 0; !(await this.#answers()); tries += 1) {
      if (tries > 1200) throw new Error("redis-server did not start");
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }

  /** Ends it at once, as a crash would. */
  async kill(): Promise<void> {
    const running = this.#process;
    this.#process = undefined;
    if (running === undefined || running.exitCode !== null) return;
    const ended = once(running, "exit");
    running.kill("SIGKILL");
    await ended;
  }

  /** Keeps its port open and answers nothing. */
  freeze(): void {
    this.#process?.kill("SIGSTOP");
  }

  thaw(): void {
    this.#process?.kill("SIGCONT");
  }

  /** One command in Redis's inline form, without spaces in its words. */
  command(line: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = createConnection(this.port, "127.0.0.1", () => socket.write(`${line}\r\n`));
      socket.once("data", (answer) => {
        socket.destroy();
        resolve(answer.toString());
      });
      socket.once("error", reject);
    });
  }

  async remove(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Without TLS it answers; with it, an open port must do. */
  #answers(): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = createConnection(this.port, "127.0.0.1");
      const end = (answers: boolean): void => {
        socket.destroy();
        resolve(answers);
      };
      socket.once("connect", () => {
        if (this.#settings.tls === undefined) socket.write("PING\r\n");
        else end(true);
      });
      socket.once("data", (data) => end(/PONG|NOAUTH/.test(data.toString())));
      socket.once("error", () => end(false));
    });
  }
}
