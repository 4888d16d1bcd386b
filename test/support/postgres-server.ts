/** PostgreSQL servers for tests: on free loopback ports, in temporary folders, ended by their ids. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import Client from "pg/lib/client.js";
import { afterAll } from "vitest";
import { freePort } from "./free-port.ts";

/** The password of the user `postgres`, for servers that require one. */
export const PASSWORD = "right-one";

const DEBIAN = "/usr/lib/postgresql";

/**
 * Finds the folder of `initdb` and `postgres`: a folder on the PATH, or else the folder of Debian's newest version.
 * Debian does not put that folder on the PATH.
 */
function findPrograms(): string | undefined {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [
    ...(process.env["PATH"] ?? "").split(delimiter),
    ...versions.map((version) => join(DEBIAN, version, "bin")),
  ];
  return folders.find((folder) => existsSync(join(folder, "initdb")) && existsSync(join(folder, "postgres")));
}

/** Returns why PostgreSQL cannot be tested here, or `null`. Throws in CI if the server is missing. */
export function whyNoPostgres(): string | null {
  if (findPrograms() !== undefined) return null;
  const why = "PostgreSQL is not installed: the tests of the shared store are skipped";
  if (process.env["CI"] === "true") throw new Error(why);
  return why;
}

interface User {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Returns the user that runs the servers, because PostgreSQL and PgBouncer refuse to run as root. The result is empty
 * if the tests run as an ordinary user, who can run the servers.
 */
export function serverUser(): Partial<User> {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string): number => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}

/** Makes a folder that the servers' user owns. */
export function serverFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), name));
  give(folder);
  return folder;
}

function give(path: string): void {
  const { uid, gid } = serverUser();
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid);
}

/** Returns the folder of an empty cluster. It is created once and then copied, because creating it takes seconds. */
function template(programs: string): string {
  const folder = join(tmpdir(), `agm-postgres-template-${process.getuid?.() ?? 0}`);
  if (existsSync(folder)) return folder;
  const draft = serverFolder("agm-postgres-draft-");
  const secret = join(draft, "password");
  writeFileSync(secret, PASSWORD);
  chmodSync(secret, 0o644);
  const data = join(draft, "data");
  const words = ["-D", data, "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync", "--wal-segsize=1"];
  execFileSync(join(programs, "initdb"), [...words, "-A", "trust", `--pwfile=${secret}`], {
    ...serverUser(),
    cwd: draft,
    stdio: "ignore",
  });
  try {
    renameSync(data, folder);
  } catch (error) {
    // Another worker may have created the folder first.
    if (!existsSync(folder)) throw error;
  }
  rmSync(draft, { recursive: true });
  return folder;
}

export interface PostgresSettings {
  /** Settings as in postgresql.conf. */
  readonly more?: Readonly<Record<string, string>>;
  /** Whether every user needs a password. {@link PASSWORD} is that of `postgres`. */
  readonly asksPassword?: boolean;
  /** Files of a key and its certificate. With them the server accepts only TLS connections. */
  readonly tls?: { readonly key: string; readonly certificate: string };
}

export class PostgresServer {
  readonly port: number;
  readonly #folder = serverFolder("agm-postgres-");
  readonly #settings: PostgresSettings;
  readonly #programs: string;
  #process: ChildProcess | undefined;
  #databases = 0;
  #frozen: readonly number[] = [];

  private constructor(port: number, settings: PostgresSettings, programs: string) {
    this.port = port;
    this.#settings = settings;
    this.#programs = programs;
    execFileSync("cp", ["-a", template(programs), this.#data], serverUser());
    const { asksPassword = false, tls } = settings;
    const method = asksPassword ? "scram-sha-256" : "trust";
    // The first line lets the tests' own commands connect through the socket, without a password.
    const everybody =
      tls === undefined ? ["host all all all"] : ["hostssl all all all", "hostnossl all all all"];
    const lines = everybody.map((who) => `${who} ${who.startsWith("hostnossl") ? "reject" : method}`);
    const first = "local all all trust";
    writeFileSync(join(this.#data, "pg_hba.conf"), `${[first, ...lines].join("\n")}\n`);
    if (tls !== undefined) {
      for (const [from, name] of [
        [tls.key, "server.key"],
        [tls.certificate, "server.crt"],
      ] as const) {
        const to = join(this.#data, name);
        copyFileSync(from, to);
        chmodSync(to, 0o600);
        give(to);
      }
    }
  }

  static async start(settings: PostgresSettings = {}): Promise<PostgresServer> {
    const programs = findPrograms();
    if (programs === undefined) throw new Error("PostgreSQL is not installed");
    const server = new PostgresServer(await freePort(), settings, programs);
    await server.start();
    return server;
  }

  get #data(): string {
    return join(this.#folder, "data");
  }

  get url(): string {
    return this.urlOf("postgres");
  }

  urlOf(database: string, user = "postgres"): string {
    const { asksPassword = false, tls } = this.#settings;
    const secret = asksPassword ? `:${PASSWORD}` : "";
    const mode = tls === undefined ? "" : "?sslmode=verify-full";
    return `postgres://${user}${secret}@127.0.0.1:${this.port}/${database}${mode}`;
  }

  /** Creates an empty database beside the others, and returns its address. */
  async newDatabase(): Promise<string> {
    this.#databases += 1;
    const name = `database_${this.#databases}`;
    await this.command(`CREATE DATABASE ${name}`);
    return this.urlOf(name);
  }

  /** Starts the server. A restart keeps the port and the data. */
  async start(): Promise<void> {
    const { more = {}, tls } = this.#settings;
    const settings = {
      port: String(this.port),
      listen_addresses: "127.0.0.1",
      unix_socket_directories: this.#folder,
      shared_buffers: "16MB",
      ...(tls === undefined ? {} : { ssl: "on" }),
      ...more,
    };
    const words = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const started = spawn(join(this.#programs, "postgres"), ["-D", this.#data, ...words], {
      ...serverUser(),
      cwd: this.#folder,
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#process = started;
    let log = "";
    started.stderr.setEncoding("utf8").on("data", (text: string) => {
      log = (log + text).slice(-2000);
    });
    for (let tries = 0; ; tries += 1) {
      try {
        await this.command("SELECT 1");
        return;
      } catch (error) {
        // After a kill, the server syncs each file of its databases before it recovers, which takes a while on a busy disk.
        if (tries > 5000 || started.exitCode !== null)
          throw new Error(`postgres did not start: ${log}`, { cause: error });
      }
      await sleep(25);
    }
  }

  /** Ends the server at once, like `pg_ctl stop -m immediate`. The next start recovers as after a crash. */
  async kill(): Promise<void> {
    this.thaw();
    const running = this.#process;
    this.#process = undefined;
    if (running === undefined || running.exitCode !== null) return;
    const ended = once(running, "exit");
    running.kill("SIGQUIT");
    await ended;
  }

  /** Suspends the server and its processes: its port stays open, but nothing answers. */
  freeze(): void {
    const pid = this.#process?.pid;
    if (pid === undefined) return;
    process.kill(pid, "SIGSTOP");
    const children = processesOf(pid);
    for (const child of children) process.kill(child, "SIGSTOP");
    this.#frozen = [...children, pid];
  }

  thaw(): void {
    for (const pid of this.#frozen) process.kill(pid, "SIGCONT");
    this.#frozen = [];
  }

  /** Runs a statement as `postgres`, without password and TLS. Returns its rows. */
  async command(text: string, database = "postgres"): Promise<unknown[]> {
    const client = new Client({
      host: this.#folder,
      port: this.port,
      user: "postgres",
      database,
      ssl: false,
    });
    client.on("error", () => undefined);
    await client.connect();
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  }

  async remove(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/**
 * Shares one server among the tests of a file that need only an empty database. Call it at the top of the file.
 *
 * @returns a function that creates an empty database and returns its address. Its first call starts the server.
 */
export function databasesOfFile(): () => Promise<string> {
  let server: Promise<PostgresServer> | undefined;
  afterAll(async () => {
    await (await server?.catch(() => undefined))?.remove();
  });
  return async () => {
    server ??= PostgresServer.start();
    return await (await server).newDatabase();
  };
}

function processesOf(pid: number): number[] {
  const { stdout } = spawnSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" });
  return stdout
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([child, parent]) => (child !== undefined && parent === pid ? [child] : []));
}
