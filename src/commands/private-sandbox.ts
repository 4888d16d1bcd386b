/**
 * Starts the sandbox of `--sandbox`, which runs inside this process with a new ledger. The sandbox and its ledger end
 * with the process.
 */
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "../clock.ts";
import { type Config, configurationError } from "../config/config.ts";
import type { ServiceAccess } from "../config/service-address.ts";
import { AudioError, askUser } from "../errors.ts";
import { fileError } from "../files/file-error.ts";
import { openOutputFolder } from "../files/output-folder.ts";
import { initMachineId } from "../ledger/machine-id.ts";
import { createProcessId, isProcessDead } from "../process-id.ts";
import { loadSandbox } from "./sandbox-loader.ts";
import { CommandError } from "./usage-errors.ts";

export interface PrivateSandbox {
  readonly service: ServiceAccess;
  readonly stateDir: string;
  stop(): Promise<void>;
}

/**
 * Starts a sandbox with a state folder of its own.
 *
 * @throws AudioError `configuration_error` if the sandbox's packages are missing or no state folder is configured;
 *   `store_unavailable` if the state folder cannot be used
 */
export async function startPrivateSandbox(config: Config): Promise<PrivateSandbox> {
  if (config.stateDir === null) throw configurationError(config);
  const stateDir = await makeStateDir(config.stateDir);
  try {
    const { startSandbox } = await loadSandbox();
    const sandbox = await startSandbox({ timeScale: config.timeScale });
    return {
      service: { baseUrl: sandbox.baseUrl, apiKey: sandbox.apiKey },
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

/**
 * A folder that has not changed for this long is removed, even if its process seems to be alive. A sandbox in use
 * changes its folder more than once a week.
 */
const STALE_AFTER_MS = 7 * 24 * 60 * 60 * 1000;

/**
 * Removes the folders of dead processes, and folders without a change for a week. Their ledgers are of no further use.
 */
async function removeStaleFolders(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const owner = /^sandbox-([0-9a-f.]+)-/.exec(name)?.[1];
    if (owner === undefined) continue;
    const path = join(parent, name);
    if (isProcessDead(owner) || systemClock.wallMs() - (await getLastChangeMs(path)) > STALE_AFTER_MS) {
      await rm(path, { recursive: true, force: true });
    }
  }
}

/** Returns the time of the last change in a folder, in milliseconds; the current time if the folder cannot be read. */
async function getLastChangeMs(path: string): Promise<number> {
  try {
    const names = await readdir(path, { recursive: true });
    const stats = await Promise.all(
      [path, ...names.map((name) => join(path, name))].map((each) => stat(each)),
    );
    return Math.max(...stats.map(({ mtimeMs }) => mtimeMs));
  } catch {
    return systemClock.wallMs();
  }
}

/**
 * Creates the sandbox's state folder inside `parent`. Checks first that `parent` can be written. Errors name the
 * setting AUDIO_STATE_DIR.
 */
async function makeStateDir(parent: string): Promise<string> {
  try {
    await (await openOutputFolder(parent)).ensureWritable();
    await initMachineId(parent);
    await removeStaleFolders(parent);
    return await mkdtemp(join(parent, `sandbox-${createProcessId()}-`));
  } catch (error) {
    const folderError = fileError(error, parent);
    if (!(folderError instanceof AudioError)) throw error;
    throw new AudioError(
      "store_unavailable",
      `The sandbox cannot keep its state in ${parent} (AUDIO_STATE_DIR): ${describeReason(folderError)}`,
      {
        remedy: askUser(
          "make the folder of AUDIO_STATE_DIR writable, or to set AUDIO_STATE_DIR to one that is",
          ". Then repeat the same call",
        ),
        cause: error,
      },
    );
  }
}

/** Returns why a folder cannot be used, in words that do not mention the output folder. */
function describeReason({ code, message }: AudioError): string {
  if (code === "disk_full") return "there is no room left on the disk.";
  return /.*: (.*)$/.exec(message)?.[1] ?? message;
}
