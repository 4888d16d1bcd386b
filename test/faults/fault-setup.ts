/**
 * Sets up what a test of a fault needs: service, folders and server. Checks the promises that hold after every fault.
 */
import { readdir, readFile } from "node:fs/promises";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { COMPILED } from "../support/bin-under-test.ts";
import {
  type ExchangeKind,
  FakeService,
  type FakeServiceOptions,
  type Interceptor,
} from "../support/fake-service.ts";
import { createTestFolders, type TestFolders } from "../support/test-folders.ts";
import { filesBelow, spellingsOf } from "./find-leaks.ts";
import { RawServer, type StartOptions } from "./raw-server.ts";
import { type Misbehaviour, misbehaveNext } from "./wire.ts";

/** Limits, polls and backoffs are a thousand times shorter; the recovery timeout becomes 3.9 s. */
const FASTEST = { AUDIO_TIME_SCALE: "0.001", AUDIO_LOG_LEVEL: "debug", ...COMPILED };

export interface FaultSetup {
  readonly service: FakeService;
  readonly testFolders: TestFolders;
  readonly server: RawServer;
  /** Starts another server with the same folders. */
  another(env?: Record<string, string>, options?: StartOptions): Promise<RawServer>;
  /** Lets an interceptor answer in place of the service. `undefined`: the service answers again. */
  misbehave(interceptor: Interceptor | undefined): void;
  /** Lets the next answers of a kind misbehave. */
  misbehaveNext(kind: ExchangeKind, misbehaviour: Misbehaviour, count?: number): void;
  /** Lets every answer of a kind misbehave. */
  misbehaveAlways(kind: ExchangeKind, misbehaviour: Misbehaviour): void;
}

export interface FaultSetupOptions {
  readonly service?: FakeServiceOptions;
  readonly env?: Record<string, string>;
  /** How the first server starts. Without `isInProcess: false`, servers run in the process of the test, if they can. */
  readonly start?: StartOptions;
  /** The address in the server's settings, if it is not the real address of the service but, for example, a proxy's. */
  readonly baseUrl?: string;
}

interface Opened {
  readonly setup: FaultSetup;
  readonly servers: RawServer[];
}

const openSetups: Opened[] = [];

/** Opens a setup for one test. {@link closeAfterEach} closes it. */
export async function openFaultSetup(options: FaultSetupOptions = {}): Promise<FaultSetup> {
  const opened = await open(options);
  openSetups.push(opened);
  return opened.setup;
}

/** Opens one setup for all tests of a `describe`. Each test starts with a service without faults and without tasks. */
export function shareFaultSetup(options: FaultSetupOptions = {}): () => FaultSetup {
  let opened: Opened | undefined;
  const setup = (): FaultSetup => {
    if (opened === undefined) throw new Error("the setup is open only while tests run");
    return opened.setup;
  };
  beforeAll(async () => {
    opened = await open(options);
  });
  beforeEach(() => {
    const { service } = setup();
    service.intercept = undefined;
    service.processingMs = options.service?.processingMs ?? 0;
    service.exchanges.length = 0;
    service.tasks.clear();
    service.byKey.clear();
  });
  afterAll(async () => {
    if (opened !== undefined) await closeSetup(opened);
  });
  return setup;
}

async function open(options: FaultSetupOptions): Promise<Opened> {
  const service = await FakeService.start(options.service);
  const testFolders = await createTestFolders();
  const address = { baseUrl: options.baseUrl ?? service.baseUrl, apiKey: service.apiKey };
  const servers: RawServer[] = [];
  const another = async (env: Record<string, string> = {}, start?: StartOptions): Promise<RawServer> => {
    const all = testFolders.env(address, { ...FASTEST, ...options.env, ...env });
    const needsProcess = start?.nodeArgs !== undefined || start?.isRead === false;
    const server = await RawServer.start(all, {
      cwd: testFolders.root,
      isInProcess: !needsProcess,
      ...start,
    });
    servers.push(server);
    return server;
  };
  const setup: FaultSetup = {
    service,
    testFolders,
    server: await another({}, options.start),
    another,
    misbehave: (interceptor) => {
      service.intercept = interceptor;
    },
    misbehaveNext: (...args) => setup.misbehave(misbehaveNext(...args)),
    misbehaveAlways: (kind, misbehaviour) =>
      setup.misbehaveNext(kind, misbehaviour, Number.POSITIVE_INFINITY),
  };
  return { setup, servers };
}

/** Expects that the API key is in no file, file name or line of a stream (docs/reference.md, Security). */
export async function expectKeyNowhere(setup: FaultSetup, servers: readonly RawServer[]): Promise<void> {
  const needles = spellingsOf(setup.service.apiKey);
  for (const server of servers) {
    for (const needle of needles) {
      expect(server.stderr).not.toContain(needle);
      expect(server.lines.join("\n")).not.toContain(needle);
    }
  }
  for (const path of await filesBelow(setup.testFolders.root)) {
    const bytes = await readFile(path).catch(() => Buffer.alloc(0));
    for (const needle of needles) {
      expect(path).not.toContain(needle);
      expect(bytes.includes(needle), `the key in ${path}`).toBe(false);
    }
  }
}

/**
 * Checks what holds after every fault: stdout contained only protocol, the server exited with 0, nothing is outside
 * the two folders, there is no partial file, and the key is nowhere.
 */
async function closeSetup({ setup, servers }: Opened): Promise<void> {
  try {
    let wasKilled = false;
    for (const server of servers) {
      const wasRunning = server.isRunning;
      const exit = await server.end();
      expect(server.strays).toEqual([]);
      if (wasRunning) expect(exit).toMatchObject({ code: 0, signal: null });
      wasKilled ||= exit.signal !== null;
    }
    const names = await readdir(setup.testFolders.root);
    expect(names.filter((name) => name !== "out" && name !== "state")).toEqual([]);
    if (!wasKilled) {
      const output = await setup.testFolders.outputNames();
      expect(output.filter((name) => name.startsWith("."))).toEqual([]);
    }
    await expectKeyNowhere(setup, servers);
  } finally {
    for (const server of servers) server.abort();
    await setup.service.stop();
    await setup.testFolders.remove();
  }
}

/** Closes the setups of each test, and checks what holds after every fault. Each test file calls this once. */
export function closeAfterEach(): void {
  afterEach(async () => {
    for (const entry of openSetups.splice(0)) await closeSetup(entry);
  });
}
