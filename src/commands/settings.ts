/** Owns what commands derive from a configuration: its secrets and its error; reads no environment. */
import type { Config } from "../config.ts";
import { AudioError } from "../errors.ts";

function passwordOf(url: string | null | undefined): string[] {
  if (url == null || !URL.canParse(url)) return [];
  const { password } = new URL(url);
  return password === "" ? [] : [password, decodeURIComponent(password)];
}

/** Everything that must never be printed. */
export function secretsOf(config: Config): string[] {
  const key = config.service === null ? [] : [config.service.apiKey];
  return [...key, ...passwordOf(config.storeUrl), ...passwordOf(config.proxy.httpsProxy)];
}

/** All faults of a configuration in one error: every tool but `list_voices` answers with it. */
export function configurationError(config: Config): AudioError {
  const faults = config.faults.map(({ message, fix }) => `${message} ${fix}`);
  return new AudioError("configuration_error", faults.join(" "));
}
