/** Owns the sandbox behind `--sandbox`: started inside this process, with an empty ledger of its own, gone with it. */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Config, ServiceAddress } from "../config.ts";
import { AudioError } from "../errors.ts";
import { openOutputFolder } from "../files/output-folder.ts";
import { createHolderId, isHolderGone } from "../holder.ts";
import { loadSandbox } from "./sandbox-loader.ts";
import { CommandError } from "./usage.ts";

export interface PrivateSandbox {
  readonly service: ServiceAddress;
  readonly stateDir: string;
  stop(): Promise<void>;
}

/** @throws AudioError `configuration_error` when its packages are missing, `output_not_writable` for the state folder */
export async function startPrivateSandbox(config: Config): Promise<PrivateSandbox> {
  const stateDir = await makeStateDir(config.stateDir);
  try {
    const { startSandbox } = await loadSandbox();
    const sandbox = await startSandbox({ timeScale: config.timeScale, stateDir: join(stateDir, "service") });
    return {
      service: { baseUrl: sandbox.baseUrl, apiKey: sandbox.apiKey, isLoopback: true },
      stateDir,
      stop: async () => {
        await sandbox.stop();
        await rm(stateDir, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await rm(stateDir, { recursive: true, force: true });
    if (!(error instanceof CommandError)) throw error;
    throw new AudioError("configuration_error", `${error.message}.`, { cause: error });
  }
}

/** What killed processes left: their ledgers were for their own life only. */
async function sweepLeftovers(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const owner = /^sandbox-([0-9a-f.]+)-/.exec(name)?.[1];
    if (owner !== undefined && isHolderGone(owner))
      await rm(join(parent, name), { recursive: true, force: true });
  }
}

async function makeStateDir(parent: string): Promise<string> {
  await (await openOutputFolder(parent)).ensureWritable();
  await sweepLeftovers(parent);
  return await mkdtemp(join(parent, `sandbox-${createHolderId()}-`));
}
