/**
 * What most end-to-end tests need: a service, temporary folders, and a client of the server. Each function opens
 * one before each test of a file (`…Each`) or once before all (`…All`), closes it afterwards, and returns at once a
 * stand-in for the one that is open.
 */
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { type RunningSandbox, type SandboxOptions, startSandbox } from "../../src/sandbox/sandbox.ts";
import { FakeService, type FakeServiceOptions } from "./fake-service.ts";
import { createTestFolders, type TestFolders } from "./test-folders.ts";
import type { ToolClient } from "./tool-client.ts";

interface Hooks {
  readonly before: (open: () => Promise<void>) => void;
  readonly after: (close: () => Promise<void>) => void;
}

const EACH: Hooks = { before: beforeEach, after: afterEach };
const ALL: Hooks = { before: beforeAll, after: afterAll };

function standIn<T extends object>(
  { before, after }: Hooks,
  open: () => Promise<T>,
  close: (opened: T) => Promise<unknown>,
): T {
  let opened: T | undefined;
  const current = (): T => {
    if (opened === undefined) throw new Error("it is open only while tests run");
    return opened;
  };
  before(async () => {
    opened = await open();
  });
  after(async () => {
    const last = opened;
    opened = undefined;
    if (last !== undefined) await close(last);
  });
  const handler: ProxyHandler<T> = {
    get: (_target, key) => {
      const value: unknown = Reflect.get(current(), key, current());
      return typeof value === "function" ? value.bind(current()) : value;
    },
    set: (_target, key, value) => Reflect.set(current(), key, value, current()),
  };
  return new Proxy({} as T, handler); // every access goes to the open one
}

/** Opens and closes anything in the same way. */
export const openAll = <T extends object>(
  open: () => Promise<T>,
  close: (opened: T) => Promise<unknown>,
): T => standIn(ALL, open, close);
export const openEach = <T extends object>(
  open: () => Promise<T>,
  close: (opened: T) => Promise<unknown>,
): T => standIn(EACH, open, close);

const openService = (hooks: Hooks, options: FakeServiceOptions = {}): FakeService =>
  standIn(
    hooks,
    () => FakeService.start(options),
    (service) => service.stop(),
  );
export const openServiceEach = (options?: FakeServiceOptions): FakeService => openService(EACH, options);
export const openServiceAll = (options?: FakeServiceOptions): FakeService => openService(ALL, options);

const openFolders = (hooks: Hooks): TestFolders =>
  standIn(hooks, createTestFolders, (folders) => folders.remove());
export const openFoldersEach = (): TestFolders => openFolders(EACH);
export const openFoldersAll = (): TestFolders => openFolders(ALL);

const openClient = (hooks: Hooks, start: () => Promise<ToolClient>): ToolClient =>
  standIn(hooks, start, (client) => client.close());
export const openClientEach = (start: () => Promise<ToolClient>): ToolClient => openClient(EACH, start);
export const openClientAll = (start: () => Promise<ToolClient>): ToolClient => openClient(ALL, start);

export const openSandboxAll = (options: SandboxOptions): RunningSandbox =>
  standIn(
    ALL,
    () => startSandbox(options),
    (sandbox) => sandbox.stop(),
  );
