/** Builds the error for invalid settings. */
import type { Config } from "../config/config.ts";
import { describeUnknownVariable } from "../config/unknown-variables.ts";
import { AudioError } from "../errors.ts";

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
