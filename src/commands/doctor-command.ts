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
import { runWithTimeout } from "../deadline.ts";
import { type Environment, readVariable } from "../environment.ts";
import { AudioError } from "../errors.ts";
import { describeInputFolder } from "../files/input-folder.ts";
import { openOutputFolder } from "../files/output-folder.ts";
import { tryPublishing } from "../files/publish.ts";
import { initMachineId } from "../ledger/machine-id.ts";
import { openLedger } from "../ledger/open-ledger.ts";
import { createLog, describeCause } from "../log.ts";
import { createProcessId } from "../process-id.ts";
import { createRedact } from "../redaction.ts";
import { findRemedy } from "../remedies.ts";
import { VERSION } from "../version.ts";
import { describeError } from "./terminal-messages.ts";

interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  readonly fix: string | null;
  /** Whether the check passed but something needs attention. A warning does not make `doctor` exit with 1. */
  readonly warning?: boolean;
}

/** Time limit of every check. */
const TIMEOUT_MS = 8_000;
/** Time limit of connecting, the proxy included. It ends before the check, so that the check names what did not answer. */
const CONNECT_MS = 5_000;

const passedCheck = (name: string, detail: string): Check => ({ name, ok: true, detail, fix: null });
const warnedCheck = (name: string, detail: string): Check => ({
  ...passedCheck(name, detail),
  warning: true,
});
const failedCheck = (name: string, detail: string, fix: string): Check => ({ name, ok: false, detail, fix });
const untestedCheck = (name: string, reason: string, fix = "Fix the settings first."): Check =>
  failedCheck(name, `not tested: ${reason}`, fix);

/** An AudioError has its remedy as the fix. For other errors, the fix only refers to the detail and the README. */
const failedCheckFromError = (name: string, error: unknown): Check =>
  error instanceof AudioError
    ? failedCheck(name, describeError(error), findRemedy(error, "terminal"))
    : failedCheck(
        name,
        describeCause(error),
        "The detail says what to change; the README explains each setting.",
      );

/** Runs a check, which returns its detail if it passes. A check that does not end in time counts as failed. */
async function checkWithTimeout(
  name: string,
  fix: string,
  check: () => Promise<string | Check>,
): Promise<Check> {
  const timeoutError = (): AudioError =>
    new AudioError("timeout", `no answer within ${TIMEOUT_MS / 1000} seconds`, { remedy: fix });
  try {
    const found = await runWithTimeout({ clock: systemClock, timeoutMs: TIMEOUT_MS, timeoutError }, check);
    return typeof found === "string" ? passedCheck(name, found) : found;
  } catch (error) {
    return failedCheckFromError(name, error);
  }
}

/** A valid task id that no service ever assigned. */
const IMPOSSIBLE_TASK_ID = "doctor-no-such-task";

const BUDGET_VARIABLE = "AUDIO_CREDIT_BUDGET";

/** How many voices or words of a file are named. */
const MAX_NAMED = 5;

/** Finds settings with a placeholder that the client did not fill in. Such settings count as unset. */
const findPlaceholders = (env: Environment): string[] =>
  Object.keys(env).filter(
    (name) =>
      name.startsWith("AUDIO_") &&
      env[name]?.trim().startsWith("${") &&
      readVariable(env, name) === undefined,
  );

const hasIssue = (config: Config, name: string): boolean =>
  config.issues.some(({ variable }) => variable === name);

const listNote = (words: string, values: readonly string[]): string =>
  values.length === 0 ? "" : `; ${words}: ${values.join(", ")}`;

function checkSettings(config: Config, env: Environment): Check[] {
  const unfilled = findPlaceholders(env);
  const failed = config.issues.map(({ variable, message, fix }) =>
    unfilled.includes(variable)
      ? failedCheck(
          `setting ${variable}`,
          `${variable} still holds the placeholder ${env[variable]?.trim()}, which your client did not fill in.`,
          `Enter the value in the client's settings of this server, or write it in place of the placeholder: ${fix}`,
        )
      : failedCheck(`setting ${variable}`, message, fix),
  );
  const { creditBudget, voiceNotes, pronunciations } = config;
  const isTooSmall = creditBudget !== null && creditBudget < RESERVED_CREDITS;
  if (isTooSmall && !hasIssue(config, BUDGET_VARIABLE)) {
    failed.push(
      failedCheck(
        `setting ${BUDGET_VARIABLE}`,
        `a budget of ${creditBudget} credits lets no generation pass: each one reserves ${RESERVED_CREDITS}.`,
        `Set ${BUDGET_VARIABLE} to ${RESERVED_CREDITS} or more, or unset it.`,
      ),
    );
  }
  if (failed.length > 0) return failed;
  const unknownIds = voiceNotes.unknownIds.slice(0, MAX_NAMED);
  const signs = pronunciations.wordsWithoutLetters.slice(0, MAX_NAMED).map((word) => JSON.stringify(word));
  const notes = [
    listNote("left unset by the client", unfilled),
    listNote("AUDIO_VOICE_NOTES has ids that are not voices", unknownIds),
    listNote("AUDIO_PRONUNCIATIONS replaces punctuation or signs, wherever they stand", signs),
  ];
  return [passedCheck("settings", `all settings can be used${notes.join("")}`)];
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
  const fix =
    config.storeUrl === null
      ? "Check the disk of AUDIO_STATE_DIR, or set it to a folder on another one."
      : "Check that the PostgreSQL server of AUDIO_STORE_URL runs and can be reached.";
  return checkWithTimeout("store", fix, async () => {
    const { database } = await openLedger({
      config,
      serviceAccess: config.serviceAccess ?? NO_SERVICE,
      processId: createProcessId(),
      log: createLog("silent", (text) => text),
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
    if (code === "rate_limit")
      return [host, untestedCheck("key", "the service asks for a pause", "Try again in a minute.")];
    const untested = untestedCheck("key", "the host did not answer as it should", "Fix the host first.");
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
  await initMachineId(config.stateDir);
  const untested = (name: string): Check => untestedCheck(name, "its setting cannot be used");
  const otherChecks = Promise.all([
    config.outputDir === null ? untested("output folder") : checkFolder(config),
    config.serviceAccess === null
      ? ["host", "key"].map((name) => untestedCheck(name, "the address or the key cannot be used"))
      : checkService(config, config.serviceAccess),
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
