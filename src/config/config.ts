/** Reads the whole configuration from the environment, and collects its issues (docs/reference.md, Configuration). */
import { type Environment, findHomeDir } from "../environment.ts";
import { AudioError } from "../errors.ts";
import { readStoreUrl } from "./postgres-address.ts";
import { listCertainSecrets } from "./secrets.ts";
import { readServiceSettings, type ServiceAccess } from "./service-address.ts";
import { readSettings, type Settings } from "./settings.ts";
import { type ConfigIssue, SettingsReader } from "./settings-reader.ts";
import { describeUnknownVariable, findUnknownVariables, type UnknownVariable } from "./unknown-variables.ts";

export interface Config extends Settings {
  /** The service; null if its address or key is missing or invalid. In this case, `issues` names the reason. */
  readonly serviceAccess: ServiceAccess | null;
  /** Address of the ledger's database; null if the ledger lies on this machine. */
  readonly storeUrl: string | null;
  readonly issues: readonly ConfigIssue[];
  /**
   * Variables that are named like settings but are not settings. They do not count as issues, because some may belong
   * to other programs.
   */
  readonly unknownVariables: readonly UnknownVariable[];
  /** Strings that are secrets in any context. A call that contains one is refused. */
  readonly certainSecrets: readonly string[];
}

/**
 * Reads the whole configuration. Never throws. An invalid value adds a {@link ConfigIssue} and is replaced by its
 * default. Exceptions are folders and addresses, which become null, and the budget, which becomes 0.
 */
export function readConfig(
  env: Environment,
  platform: NodeJS.Platform = process.platform,
  home: string | null = findHomeDir(platform),
): Config {
  return readAll(new SettingsReader({ env, platform, home }));
}

function readAll(reader: SettingsReader): Config {
  const storeUrl = readStoreUrl(reader);
  const { service, url } = readServiceSettings(reader);
  const { env } = reader.source;
  return {
    ...readSettings(reader, storeUrl, url),
    serviceAccess: service,
    storeUrl,
    issues: reader.issues,
    unknownVariables: findUnknownVariables(env, reader.namesRead),
    certainSecrets: listCertainSecrets(env),
  };
}

/** Lists the names of all settings, in the order in which they are read, without those that are for tests alone. */
export function listSettingNames(): string[] {
  const reader = new SettingsReader({ env: {}, platform: process.platform, home: null });
  readAll(reader);
  return [...reader.namesRead].filter((name) => name !== "AUDIO_TIME_SCALE" && name === name.toUpperCase());
}

/**
 * Returns the output folder of the settings.
 *
 * @throws AudioError `configuration_error` if there is none
 */
export function requireOutputDir(config: Config): string {
  if (config.outputDir === null) throw configurationError(config);
  return config.outputDir;
}

/** Returns one error that reports all issues of a configuration. Every tool except `list_voices` throws it. */
export function configurationError(config: Config): AudioError {
  const issues = config.issues.map(({ message, fix }) => `${message} ${fix}`);
  const words = [...issues, ...config.unknownVariables.map(describeUnknownVariable)];
  return new AudioError("configuration_error", `${words.join(" ")} Nothing was sent or charged.`);
}
