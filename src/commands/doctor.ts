/** Owns the `doctor` command: what is wrong with this installation and how to mend it; never creates a task, never spends. */
import { createService } from "../api/service.ts";
import { systemClock } from "../clock.ts";
import { type Config, readConfig, type ServiceAddress } from "../config.ts";
import { AudioError } from "../errors.ts";
import { openOutputFolder } from "../files/output-folder.ts";
import { openStore } from "../ledger/open-store.ts";
import { createLog, describeCause } from "../log.ts";
import { createRedact } from "../redaction.ts";
import { REMEDIES } from "../server/remedies.ts";
import { secretsOf } from "./settings.ts";

export interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  readonly fix: string | null;
}

const DEADLINE_MS = 20_000;
/** Well formed, and no service will ever have given it out. */
const IMPOSSIBLE_TASK_ID = "doctor-no-such-task";

const passed = (name: string, detail: string): Check => ({ name, ok: true, detail, fix: null });
const failed = (name: string, detail: string, fix: string): Check => ({ name, ok: false, detail, fix });

function failedBy(name: string, error: unknown): Check {
  if (!(error instanceof AudioError)) return failed(name, describeCause(error), "See the detail.");
  const cause = error.cause === undefined ? "" : ` (${describeCause(error.cause)})`;
  return failed(name, `${error.message}${cause}`, error.remedy ?? REMEDIES[error.code]);
}

function checkSettings(config: Config): Check[] {
  if (config.faults.length === 0) return [passed("settings", "all settings can be used")];
  return config.faults.map(({ variable, message, fix }) => failed(`setting ${variable}`, message, fix));
}

async function attempt(name: string, check: () => Promise<string>): Promise<Check> {
  try {
    return passed(name, await check());
  } catch (error) {
    return failedBy(name, error);
  }
}

const checkFolder = (config: Config): Promise<Check> =>
  attempt("output folder", async () => {
    const folder = await openOutputFolder(config.outputDir, systemClock);
    await folder.ensureWritable();
    return `${folder.root} can be written`;
  });

const checkStore = (config: Config): Promise<Check> =>
  attempt("store", async () => {
    const log = createLog("silent", (text) => text);
    const { stateDir, storeUrl } = config;
    const store = await openStore({ stateDir, storeUrl, log, clock: systemClock });
    try {
      await store.check();
      return `${store.description} can be written`;
    } finally {
      await store.close();
    }
  });

/** A query for an id that cannot exist: 404 means that host and key work, 401 that the key does not. */
async function checkService(config: Config, address: ServiceAddress): Promise<Check[]> {
  const service = createService(address, { proxy: config.proxy });
  try {
    await service.query(IMPOSSIBLE_TASK_ID, AbortSignal.timeout(DEADLINE_MS));
    return [passed("host", `${address.baseUrl} answers`), passed("key", "the key was accepted")];
  } catch (error) {
    const host = passed("host", `${address.baseUrl} answers`);
    if (!(error instanceof AudioError)) return [failedBy("host", error)];
    if (error.code === "not_found") return [host, passed("key", "the key was accepted")];
    if (error.code === "invalid_api_key") return [host, failedBy("key", error)];
    if (error.code === "rate_limit") return [host, passed("key", "not tested: the service asks for a pause")];
    return [
      failedBy("host", error),
      failed("key", "not tested: the host did not answer", "Mend the host first."),
    ];
  } finally {
    await service.close();
  }
}

async function runChecks(config: Config): Promise<Check[]> {
  const node = passed("node", `Node.js ${process.versions.node}`);
  const unknown = [
    failed("host", "not tested: address or key is missing", "Mend the settings first."),
    failed("key", "not tested: address or key is missing", "Mend the settings first."),
  ];
  const [folder, store, service] = await Promise.all([
    checkFolder(config),
    checkStore(config),
    config.service === null ? unknown : checkService(config, config.service),
  ]);
  return [node, ...checkSettings(config), folder, store, ...service];
}

function describe({ name, ok, detail, fix }: Check): string {
  return `${ok ? "✓" : "✗"} ${name}: ${detail}${fix === null ? "" : `\n    fix: ${fix}`}`;
}

/** @returns the exit code: 0 when everything works, else 1 */
export async function doctor(asJson: boolean): Promise<0 | 1> {
  const config = readConfig(process.env);
  const redact = createRedact(secretsOf(process.env));
  const checks = (await runChecks(config)).map((check) => ({
    ...check,
    detail: redact(check.detail),
    fix: check.fix === null ? null : redact(check.fix),
  }));
  const ok = checks.every((check) => check.ok);
  const human = `${checks.map(describe).join("\n")}\n${ok ? "Everything works." : "Something needs mending."}`;
  process.stdout.write(`${asJson ? JSON.stringify({ ok, checks }, null, 2) : human}\n`);
  return ok ? 0 : 1;
}
