/** Starts a sandbox for one test, with a client. Asserts nothing. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { AccountsFile } from "../../src/sandbox/accounts/accounts-file.ts";
import { type RunningSandbox, type SandboxOptions, startSandbox } from "../../src/sandbox/sandbox.ts";
import { ServiceClient } from "../contract/service-client.ts";
import { TinySpeech } from "./tiny-speech.ts";

export interface TestSandbox {
  readonly sandbox: RunningSandbox;
  readonly client: ServiceClient;
  readonly speech: TinySpeech;
  /** Sets faults over HTTP. Returns the status. */
  setFaults(body: unknown, headers?: Record<string, string>): Promise<number>;
}

/** Starts a sandbox that finishes tasks at once and reports no fault, unless `options` say otherwise. */
export async function startTestSandbox(options: SandboxOptions = {}): Promise<TestSandbox> {
  const speech = new TinySpeech();
  const sandbox = await startSandbox({
    speech,
    processingSeconds: 0,
    timeScale: 0.001,
    onInternalError: () => undefined,
    ...options,
  });
  onTestFinished(() => sandbox.stop());
  const client = new ServiceClient({
    baseUrl: sandbox.baseUrl,
    apiKey: sandbox.apiKey,
    limitWindowMs: 60_000 * (options.timeScale ?? 0.001),
    pollIntervalMs: 5,
  });
  return {
    sandbox,
    client,
    speech,
    setFaults: async (body, headers = {}) =>
      (
        await fetch(`${sandbox.baseUrl}/sandbox/faults`, {
          method: "POST",
          headers,
          body: typeof body === "string" ? body : JSON.stringify(body),
        })
      ).status,
  };
}

type Grants = NonNullable<AccountsFile["accounts"][number]["grants"]>;

/** Returns accounts with one account, whose key is `sk-one` and which has the given grants. */
export function accountWith(...grants: Grants): AccountsFile {
  return { accounts: [{ id: "studio", keys: [{ key: "sk-one" }], grants }] };
}

/** Makes a folder that is removed when the test ends. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "sandbox-test-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
