/** A PgBouncer for one test, in transaction mode, in front of a PostgreSQL server without passwords. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "./free-port.ts";
import { type PostgresServer, serverFolder, serverUser } from "./postgres-server.ts";

/** Returns why PgBouncer cannot be tested here, or `undefined`. Throws in CI if the program is missing. */
export function whyNoPgBouncer(): string | undefined {
  if (spawnSync(PROGRAM, ["--version"], { stdio: "ignore" }).status === 0) return undefined;
  const why = "pgbouncer is not installed: its test is skipped";
  if (process.env["CI"] === "true") throw new Error(why);
  process.stderr.write(`${why}\n`);
  return why;
}

const PROGRAM = "pgbouncer";

export class PgBouncer {
  readonly port: number;
  readonly #process: ChildProcess;
  readonly #folder: string;

  private constructor(port: number, child: ChildProcess, folder: string) {
    this.port = port;
    this.#process = child;
    this.#folder = folder;
  }

  /** @param poolSize how many connections to the server all clients together may use */
  static async start(server: PostgresServer, poolSize: number): Promise<PgBouncer> {
    const port = await freePort();
    const folder = serverFolder("agm-pgbouncer-");
    const settings = join(folder, "pgbouncer.ini");
    const lines = [
      "[databases]",
      `* = host=127.0.0.1 port=${server.port} user=postgres`,
      "[pgbouncer]",
      `listen_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =`,
      `auth_type = any\npool_mode = transaction\ndefault_pool_size = ${poolSize}`,
      // By default, PgBouncer waits 15 seconds after a failed login before it connects to the server again.
      "server_login_retry = 1",
    ];
    writeFileSync(settings, `${lines.join("\n")}\n`);
    const child = spawn(PROGRAM, ["-q", settings], { ...serverUser(), cwd: folder, stdio: "ignore" });
    const started = new PgBouncer(port, child, folder);
    for (let tries = 0; !(await started.#listens()); tries += 1) {
      if (tries > 400 || child.exitCode !== null) throw new Error("pgbouncer did not start");
      await sleep(25);
    }
    return started;
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`;
  }

  async remove(): Promise<void> {
    if (this.#process.exitCode === null) {
      const ended = once(this.#process, "exit");
      this.#process.kill("SIGKILL");
      await ended;
    }
    rmSync(this.#folder, { recursive: true });
  }

  #listens(): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = createConnection(this.port, "127.0.0.1");
      socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
      socket.once("connect", () => socket.destroy());
    });
  }
}
