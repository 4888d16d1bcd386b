/** Runs `doctor` with broken setups. It names the cause and the fix within its time limit, and sends no submission. */
import { execFile } from "node:child_process";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { readConfig } from "../../src/config/config.ts";
import { GENERATIONS_PATH } from "../../src/contract/wire.ts";
import { BIN, COMPILED, NODE } from "../support/bin-under-test.ts";
import { FakeService } from "../support/fake-service.ts";
import { PostgresServer, whyNoPostgres } from "../support/postgres-server.ts";
import { skipBecause } from "../support/skip-because.ts";
import { createTestFolders, type TestFolders } from "../support/test-folders.ts";

const report = z.strictObject({
  ok: z.boolean(),
  checks: z.array(
    z.strictObject({
      name: z.string(),
      ok: z.boolean(),
      detail: z.string(),
      fix: z.string().nullable(),
      warning: z.literal(true).optional(),
    }),
  ),
});
type Report = z.infer<typeof report>;

interface Run {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly seconds: number;
}

function runDoctor(env: Record<string, string>, args: string[] = ["--json"], node = NODE): Promise<Run> {
  const beganAt = performance.now();
  return new Promise((resolve) => {
    execFile(
      node,
      [BIN, "doctor", ...args],
      { env: { ...COMPILED, ...env }, timeout: 30_000 },
      (error, stdout, stderr) => {
        const status = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
        resolve({ status, stdout, stderr, seconds: (performance.now() - beganAt) / 1000 });
      },
    );
  });
}

async function diagnose(env: Record<string, string>): Promise<Report & { seconds: number }> {
  const run = await runDoctor(env);
  const read = report.parse(JSON.parse(run.stdout));
  expect(run.status).toBe(read.ok ? 0 : 1);
  // Every failed check has a fix, and no passed check has one.
  for (const check of read.checks) expect(check.fix === null).toBe(check.ok);
  return { ...read, seconds: run.seconds };
}

const failedChecks = ({ checks }: Report): Record<string, string> =>
  Object.fromEntries(
    checks.filter(({ ok }) => !ok).map(({ name, detail, fix }) => [name, `${detail} FIX ${fix}`]),
  );

const ADDRESS = { AUDIO_BASE_URL: "https://audio.example.com", AUDIO_API_KEY: "sk-any" };

let service: FakeService;
let allTestFolders: TestFolders[] = [];
const servers: Server[] = [];

beforeAll(async () => {
  service = await FakeService.start();
});
afterAll(async () => {
  expect(service.count("create")).toBe(0);
  await service.stop();
  for (const server of servers) server.close();
  await Promise.all(allTestFolders.map((testFolders) => testFolders.remove()));
  allTestFolders = [];
});

async function newTestFolders(): Promise<TestFolders> {
  const testFolders = await createTestFolders();
  allTestFolders.push(testFolders);
  return testFolders;
}

/** Starts a server that accepts connections and never responds. Returns its port. */
async function silentPort(): Promise<number> {
  const server = createServer((socket) => socket.on("error", () => undefined));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("listens on no port");
  return address.port;
}

describe.concurrent("doctor", () => {
  it("passes every check of a working setup with one query and no create", async () => {
    const testFolders = await newTestFolders();
    const found = await diagnose(testFolders.env(service));
    expect(failedChecks(found)).toEqual({});
    expect(found.checks.map(({ name }) => name)).toEqual([
      "node",
      "settings",
      "output folder",
      "store",
      "host",
      "key",
    ]);
    const { stdout, status } = await runDoctor(testFolders.env(service), []);
    expect(status).toBe(0);
    expect(stdout.split("\n").filter((line) => line.startsWith("✓ "))).toHaveLength(6);
    expect(stdout).toContain("Everything works.");
  });

  it("no key: names the variable", async () => {
    const { AUDIO_API_KEY: _, ...env } = (await newTestFolders()).env(service);
    const issues = failedChecks(await diagnose(env));
    expect(issues["setting AUDIO_API_KEY"]).toMatch(/AUDIO_API_KEY is not set.*FIX Set AUDIO_API_KEY/);
    const { stdout } = await runDoctor(env, []);
    expect(stdout).toMatch(/^✗ setting AUDIO_API_KEY: .*\n {4}fix: Set AUDIO_API_KEY/m);
  });

  it("wrong key: the host passes, the key fails, and the key is never printed", async () => {
    const env = (await newTestFolders()).env({ baseUrl: service.baseUrl, apiKey: "sk-wrong-secret" });
    const found = await diagnose(env);
    expect(failedChecks(found)).toEqual({
      key: expect.stringMatching(/401.*FIX Set AUDIO_API_KEY to an active key/),
    });
    expect(JSON.stringify(found)).not.toContain("sk-wrong-secret");
  });

  it.each([
    [
      "that does not exist",
      "https://no-such-host.invalid",
      /no-such-host\.invalid cannot be reached.*FIX Check the spelling of AUDIO_BASE_URL/,
    ],
    [
      "where nothing listens",
      "https://127.0.0.1:1",
      /127\.0\.0\.1:1 cannot be reached \(ECONNREFUSED\).*FIX Check the spelling/,
    ],
  ])("wrong host, one %s: says so", async (_what, baseUrl, words) => {
    const issues = failedChecks(await diagnose((await newTestFolders()).env({ baseUrl, apiKey: "sk-any" })));
    expect(issues["host"]).toMatch(words);
  });

  it("wrong host that is not an audio service: its 404 does not count as an accepted key", async () => {
    const other = await FakeService.start();
    other.intercept = (_exchange, response) => {
      response.writeHead(404, { "content-type": "text/html" }).end("<h1>Not here</h1>");
      return true;
    };
    const issues = failedChecks(await diagnose((await newTestFolders()).env(other)));
    expect(issues["host"]).toMatch(/FIX .*AUDIO_BASE_URL/);
    expect(issues["key"]).toMatch(/not tested/);
    await other.stop();
  });

  it("wrong host that accepts the connection and never responds: ends in time", async () => {
    const baseUrl = `http://127.0.0.1:${await silentPort()}`;
    const found = await diagnose((await newTestFolders()).env({ baseUrl, apiKey: "sk-any" }));
    expect(failedChecks(found)["host"]).toMatch(/did not answer within 8 seconds.*FIX Check AUDIO_BASE_URL/);
    expect(found.seconds).toBeLessThan(14);
  });

  it("output folder not writable: names the folder and the reason", async () => {
    const testFolders = await newTestFolders();
    const file = join(testFolders.root, "a-file");
    await writeFile(file, "");
    const outputDir = join(file, "audio");
    const issues = failedChecks(await diagnose(testFolders.env(service, { AUDIO_OUTPUT_DIR: outputDir })));
    expect(issues).toEqual({ "output folder": expect.stringMatching(/a-file.*FIX .*AUDIO_OUTPUT_DIR/) });
  });

  it("store locked: says so within seconds", async () => {
    const testFolders = await newTestFolders();
    const env = testFolders.env(service);
    expect(failedChecks(await diagnose(env))).toEqual({});
    const processId = new DatabaseSync(join(testFolders.stateDir, "ledger.sqlite"));
    processId.exec("BEGIN EXCLUSIVE");
    const found = await diagnose(env);
    processId.close();
    expect(failedChecks(found)).toEqual({ store: expect.stringMatching(/locked|in use|busy/) });
    expect(found.seconds).toBeLessThan(12);
  });

  it.each([
    [
      "a file where its folder should be",
      "file",
      /not-a-folder cannot be used: it is a file, not a folder\. FIX .*AUDIO_STATE_DIR/,
    ],
    ["PostgreSQL that is down", "postgres", /127\.0\.0\.1:1.*FIX .*PostgreSQL server of AUDIO_STORE_URL/],
  ])("store gone, %s: names it", async (_what, kind, words) => {
    const testFolders = await newTestFolders();
    const file = join(testFolders.root, "not-a-folder");
    await writeFile(file, "");
    const broken =
      kind === "file"
        ? { AUDIO_STATE_DIR: file }
        : { AUDIO_STORE_URL: "postgres://:secret-word@127.0.0.1:1" };
    const found = await diagnose(testFolders.env(service, broken));
    expect(failedChecks(found)).toEqual({ store: expect.stringMatching(words) });
    expect(JSON.stringify(found)).not.toContain("secret-word");
  });

  it.each(["0", "149"])("a budget of %s, which no generation can pass: says so", async (budget) => {
    const testFolders = await newTestFolders();
    expect(failedChecks(await diagnose(testFolders.env(service, { AUDIO_CREDIT_BUDGET: budget })))).toEqual({
      "setting AUDIO_CREDIT_BUDGET": expect.stringMatching(
        /lets no generation pass.*150.*FIX Set AUDIO_CREDIT_BUDGET to 150 or more, or unset it/,
      ),
    });
  });

  it("misspelt settings: warns about each with the nearest name, and everything works", async () => {
    const testFolders = await newTestFolders();
    const misspelt = {
      AUDIO_CREDIT_BUGET: "500",
      AUDIO_SOMETHING_QUITE_ELSE: "secret-word",
      AUDIO_VOICE: "sophie",
      AUDIO_EMPTY: "",
    };
    const found = await diagnose(testFolders.env(service, misspelt));
    expect(failedChecks(found)).toEqual({});
    const [warning, ...more] = found.checks.filter((check) => check.warning);
    expect(more).toEqual([]);
    expect(warning?.detail).toMatch(
      /AUDIO_CREDIT_BUGET is set, .*no such setting; AUDIO_CREDIT_BUDGET is one/,
    );
    expect(warning?.detail).toContain(
      "AUDIO_VOICE is set, but there is no such setting; AUDIO_DEFAULT_VOICE is one.",
    );
    expect(warning?.detail).toMatch(/AUDIO_SOMETHING_QUITE_ELSE is set, but there is no such setting\./);
    expect(JSON.stringify(found)).not.toMatch(/secret-word|AUDIO_EMPTY/);
    const { stdout } = await runDoctor(testFolders.env(service, misspelt), []);
    expect(stdout).toMatch(/^! other variables: AUDIO_CREDIT_BUGET/m);
    expect(stdout).toContain('Everything works, but look at what is marked with "!".');
  });

  it.each(["audio", "~bob/x", "$HOME/x", '"/tmp/x"'])(
    "a path that cannot be a folder, %s: neither tests nor creates a default",
    async (folder) => {
      const testFolders = await newTestFolders();
      const home = join(testFolders.root, "home");
      await mkdir(home);
      const broken = { HOME: home, AUDIO_OUTPUT_DIR: folder, AUDIO_STATE_DIR: folder };
      const issues = failedChecks(await diagnose(testFolders.env(service, broken)));
      for (const name of ["AUDIO_OUTPUT_DIR", "AUDIO_STATE_DIR"]) {
        expect(issues[`setting ${name}`]).toMatch(/not an absolute path.*FIX Set AUDIO_/);
      }
      for (const name of ["output folder", "store"]) expect(issues[name]).toMatch(/not tested/);
      expect(await readdir(home)).toEqual([]);
    },
  );

  it("a service that requests a pause: the untested key does not pass", async () => {
    const busy = await FakeService.start();
    busy.intercept = (_exchange, response) => {
      const error = { type: "rate_limit_error", code: "rate_limit", message: "Slow down." };
      response.writeHead(429, { "content-type": "application/json", "retry-after": "60" });
      response.end(JSON.stringify({ error }));
      return true;
    };
    const testFolders = await newTestFolders();
    expect(failedChecks(await diagnose(testFolders.env(busy)))).toEqual({
      key: expect.stringMatching(/not tested.*FIX Try again in a minute/),
    });
    const { stdout } = await runDoctor(testFolders.env(busy), []);
    expect(stdout).toContain("Something needs to be fixed.");
    await busy.stop();
  });

  it.each(["/api", "/api/v1", "/api/v1/", GENERATIONS_PATH])(
    "an address that ends with the service's own path, %s: says to remove it",
    async (path) => {
      const testFolders = await newTestFolders();
      const wrong = { baseUrl: `${service.baseUrl}${path}`, apiKey: service.apiKey };
      const issues = failedChecks(await diagnose(testFolders.env(wrong)));
      expect(issues["setting AUDIO_BASE_URL"]).toContain(
        `FIX Leave the path out: set AUDIO_BASE_URL to ${service.baseUrl}.`,
      );
    },
  );

  it.each([
    ["/gateway/api/v1", "https://audio.example.com/gateway."],
    ["/api/v1/audio", "https://audio.example.com."],
  ])("an address with %s at its end: uses the part before it", (path, kept) => {
    const { issues } = readConfig({ ...ADDRESS, AUDIO_BASE_URL: `https://audio.example.com${path}` });
    expect(issues.map(({ fix }) => fix)).toEqual([`Leave the path out: set AUDIO_BASE_URL to ${kept}`]);
  });
});

describe("a shared store", skipBecause(whyNoPostgres()), () => {
  it("that may lose acknowledged writes works with a warning", async () => {
    const postgres = await PostgresServer.start({ more: { fsync: "off" } });
    try {
      const testFolders = await createTestFolders();
      allTestFolders.push(testFolders);
      const found = await diagnose(testFolders.env(service, { AUDIO_STORE_URL: postgres.url }));
      expect(found.ok).toBe(true);
      const store = found.checks.find(({ name }) => name === "store");
      expect(store?.warning).toBe(true);
      expect(store?.detail).toMatch(/can be written; .*fsync is off.*set fsync to on/);
    } finally {
      await postgres.remove();
    }
  });
});
