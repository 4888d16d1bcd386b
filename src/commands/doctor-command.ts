/**
 * The `doctor` command: finds issues of this installation and says how to fix them. Creates no task and spends
 * nothing.
 */
import { createServiceClient } from "../api/service.ts";
import { systemClock } from "../clock.ts";
import { type Config, readConfig, requireOutputDir } from "../config/config.ts";
import { listSecrets } from "../config/secrets.ts";
import type { ServiceAccess } from "../config/service-address.ts";
import { describeUnknownVariable } from "../config/unknown-variables.ts";
import { RESERVED_CREDITS } from "../contract/billing.ts";
import { type Environment, readVariable } from "../environment.ts";
import { AudioError } from "../errors.ts";
import { describeInputFolder } from "../files/input-folder.ts";
import { openOutputFolder } from "../files/output-folder.ts";
import { tryPublishing } from "../files/publish.ts";
import { initMachineId } from "../ledger/machine-id.ts";
import { openLedger } from "../ledger/open-ledger.ts";
import { createLog } from "../log.ts";
import { createProcessId } from "../process-id.ts";
import { createRedact } from "../redaction.ts";
import { VERSION } from "../version.ts";
import {
  type Check,
  CONNECT_MS,
  checkWithTimeout,
  failedCheck,
  failedCheckFromError,
  passedCheck,
  TIMEOUT_MS,
  warnedCheck,
} from "./doctor-checks.ts";

/** A valid task id that no service ever assigned. */
const IMPOSSIBLE_TASK_ID = "doctor-no-such-task";

const BUDGET_VARIABLE = "AUDIO_CREDIT_BUDGET";

/** Finds settings with a placeholder that the client did not fill in. Such settings count as unset. */
function findPlaceholders(env: Environment): string[] {
  return Object.keys(env).filter((name) => {
    return (
      name.startsWith("AUDIO_") && env[name]?.trim().startsWith("${") && readVariable(env, name) === undefined
    );
  });
}

const hasIssue = (config: Config, name: string): boolean =>
  config.issues.some(({ variable }) => variable === name);

function checkSettings(config: Config, env: Environment): Check[] {
  const unfilled = findPlaceholders(env);
  const issues = config.issues.map(({ variable, message, fix }) =>
    unfilled.includes(variable)
      ? failedCheck(
          `setting ${variable}`,
          `${variable} still holds the placeholder ${env[variable]?.trim()}, which your client did not fill in.`,
          `Enter the value in the client's settings of this server, or write it in place of the placeholder: ${fix}`,
        )
      : failedCheck(`setting ${variable}`, message, fix),
  );
  if (
    config.creditBudget !== null &&
    config.creditBudget < RESERVED_CREDITS &&
    !hasIssue(config, BUDGET_VARIABLE)
  ) {
    issues.push(
      failedCheck(
        `setting ${BUDGET_VARIABLE}`,
        `a budget of ${config.creditBudget} credits lets no generation pass: each one reserves ${RESERVED_CREDITS}.`,
        `Set ${BUDGET_VARIABLE} to ${RESERVED_CREDITS} or more, or unset it.`,
      ),
    );
  }
  const unset = unfilled.filter((name) => !hasIssue(config, name));
  const unsetNote = unset.length === 0 ? "" : `; left unset by the client: ${unset.join(", ")}`;
  const { unknownIds } = config.voiceNotes;
  const unknownVoicesNote =
    unknownIds.length === 0
      ? ""
      : `; AUDIO_VOICE_NOTES has ids that are not voices: ${unknownIds.slice(0, 5).join(", ")}`;
  const { wordsWithoutLetters } = config.pronunciations;
  const wordsWithoutLettersNote =
    wordsWithoutLetters.length === 0
      ? ""
      : `; AUDIO_PRONUNCIATIONS replaces punctuation or signs, wherever they stand: ${wordsWithoutLetters
          .slice(0, 5)
          .map((word) => JSON.stringify(word))
          .join(", ")}`;
  return issues.length === 0
    ? [
        passedCheck(
          "settings",
          `all settings can be used${unsetNote}${unknownVoicesNote}${wordsWithoutLettersNote}`,
        ),
      ]
    : issues;
}

const checkFolder = (config: Config): Promise<Check> =>
  checkWithTimeout(
    "output folder",
    "Check the disk of AUDIO_OUTPUT_DIR, or set it to a folder on another one.",
    async () => {
      const folder = await openOutputFolder(requireOutputDir(config), systemClock);
      await tryPublishing(folder);
      return `audio can be saved in ${folder.root}`;
    },
  );

const checkInputFolder = (folder: string): Promise<Check> =>
  checkWithTimeout("input folder", "Set AUDIO_INPUT_DIR to a folder that exists, or unset it.", () =>
    describeInputFolder(folder),
  );

/** A placeholder address, to open the ledger while the settings have no service. No request is stored under it. */
const NO_SERVICE = { baseUrl: "none", apiKey: "none" };

const checkStore = (config: Config): Promise<Check> => {
  const { storeUrl } = config;
  const fix =
    storeUrl === null
      ? "Check the disk of AUDIO_STATE_DIR, or set it to a folder on another one."
      : "Check that the PostgreSQL server of AUDIO_STORE_URL runs and can be reached.";
  return checkWithTimeout("store", fix, async () => {
    const log = createLog("silent", (text) => text);
    const serviceAccess = config.serviceAccess ?? NO_SERVICE;
    const { database } = await openLedger({
      config,
      serviceAccess,
      processId: createProcessId(),
      log,
      clock: systemClock,
    });
    try {
      const warnings = await database.check();
      const detail = [`${database.description} can be written`, ...warnings].join("; ");
      return warnings.length === 0 ? detail : warnedCheck("store", detail);
    } finally {
      await database.close();
    }
  });
};

/**
 * Checks host and key by a query for an id that cannot exist. A 404 means that both work. A 401 means that the key does
 * not work.
 */
async function checkService(config: Config, address: ServiceAccess): Promise<Check[]> {
  const service = createServiceClient(address, { proxy: config.proxy, timeouts: { connectMs: CONNECT_MS } });
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const host = passedCheck("host", `${address.baseUrl} answers`);
  const accepted = passedCheck("key", "the key was accepted");
  try {
    await service.query(IMPOSSIBLE_TASK_ID, signal);
    return [host, accepted];
  } catch (error) {
    const code = error instanceof AudioError ? error.code : null;
    if (code === "not_found") return [host, accepted];
    if (code === "invalid_api_key") return [host, failedCheckFromError("key", error)];
    if (code === "rate_limit") {
      return [host, failedCheck("key", "not tested: the service asks for a pause", "Try again in a minute.")];
    }
    const untested = failedCheck(
      "key",
      "not tested: the host did not answer as it should",
      "Fix the host first.",
    );
    return [failedCheckFromError("host", signal.aborted ? timedOutError(address) : error), untested];
  } finally {
    await service.close();
  }
}

const timedOutError = ({ baseUrl }: ServiceAccess): AudioError =>
  new AudioError("timeout", `${new URL(baseUrl).host} did not answer within ${TIMEOUT_MS / 1000} seconds.`);

/** Warns about misspelt settings, because otherwise the default applies silently. */
function checkNames({ unknownVariables }: Config): Check[] {
  if (unknownVariables.length === 0) return [];
  return [warnedCheck("other variables", unknownVariables.map(describeUnknownVariable).join(" "))];
}

/**
 * Names the runtime with its version. A Node version alone does not identify Node.js, because Bun and Deno report one
 * too.
 */
function getRuntimeName({ node, bun, deno }: NodeJS.ProcessVersions): string {
  if (bun !== undefined) return `Bun ${bun} (not supported; as Node.js ${node})`;
  if (deno !== undefined) return `Deno ${deno} (not supported; as Node.js ${node})`;
  return `Node.js ${node}`;
}

async function runChecks(config: Config, env: Environment): Promise<Check[]> {
  const node = passedCheck(
    "node",
    `${getRuntimeName(process.versions)} runs audio-generation-mcp ${VERSION}`,
  );
  const unknown = ["host", "key"].map((name) =>
    failedCheck(name, "not tested: the address or the key cannot be used", "Fix the settings first."),
  );
  await initMachineId(config.stateDir);
  const untested = (name: string) =>
    failedCheck(name, "not tested: its setting cannot be used", "Fix the settings first.");
  const otherChecks = Promise.all([
    config.outputDir === null ? untested("output folder") : checkFolder(config),
    config.serviceAccess === null ? unknown : checkService(config, config.serviceAccess),
  ]);
  // Let the other checks end before SQLite is used, because SQLite blocks the process while it waits for a slow disk.
  // During that time, the other checks could time out.
  if (config.storeUrl === null) await otherChecks;
  const hasStore =
    !hasIssue(config, "AUDIO_STORE_URL") && (config.storeUrl !== null || config.stateDir !== null);
  const store = hasStore ? await checkStore(config) : untested("store");
  const [folder, service] = await otherChecks;
  const input = config.inputDir === null ? [] : [await checkInputFolder(config.inputDir)];
  return [node, ...checkSettings(config, env), ...checkNames(config), folder, ...input, store, ...service];
}

function describeChecks({ name, ok, detail, fix, warning = false }: Check): string {
  return `${warning ? "!" : ok ? "✓" : "✗"} ${name}: ${detail}${fix === null ? "" : `\n    fix: ${fix}`}`;
}

/** Runs all checks, prints the results, and exits with 0 if everything works, otherwise with 1. */
export async function runDoctorCommand(asJson: boolean): Promise<0 | 1> {
  const config = readConfig(process.env);
  const redact = createRedact(listSecrets(process.env));
  const checks = (await runChecks(config, process.env)).map((check) => ({
    ...check,
    detail: redact(check.detail),
    fix: check.fix === null ? null : redact(check.fix),
  }));
  const ok = checks.every((check) => check.ok);
  const works = checks.some(({ warning }) => warning)
    ? 'Everything works, but look at what is marked with "!".'
    : "Everything works.";
  const human = `${checks.map(describeChecks).join("\n")}\n${ok ? works : "Something needs to be fixed."}`;
  const text = `${asJson ? JSON.stringify({ ok, checks }, null, 2) : human}\n`;
  await new Promise((resolve) => process.stdout.write(text, resolve));
  // A check that hangs must not keep the process alive.
  process.exit(ok ? 0 : 1);
}
