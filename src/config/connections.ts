/** Validates the addresses of the ledger's database and of the proxy. */
import { parsePostgresAddress } from "./postgres-address.ts";
import type { SettingsReader } from "./settings-reader.ts";

export interface ProxySettings {
  readonly httpsProxy: string | undefined;
  readonly noProxy: string | undefined;
}

/**
 * Reads the address of the ledger's database. Returns null if the address is invalid or not set. Without an address,
 * the ledger lies on this machine.
 */
export function readStoreUrl(reader: SettingsReader): string | null {
  const name = "AUDIO_STORE_URL";
  const text = reader.readText(name);
  if (text === undefined) return null;
  const address = parsePostgresAddress(text);
  if (!("what" in address)) return text;
  reader.addIssue(
    name,
    `${name} ${address.what}.`,
    `${address.fix} Unset ${name} to keep the ledger on this machine.`,
  );
  return null;
}

/**
 * Reads the proxy from HTTPS_PROXY or else HTTP_PROXY, and the excluded hosts from NO_PROXY. Accepts the three names in
 * small letters, too. If the address is invalid, adds an issue and returns no proxy.
 */
export function readProxy(reader: SettingsReader): ProxySettings {
  const readEitherCase = (upper: string): string | undefined =>
    reader.readText(upper) ?? reader.readText(upper.toLowerCase());
  const httpsProxy = readEitherCase("HTTPS_PROXY") ?? readEitherCase("HTTP_PROXY");
  if (httpsProxy !== undefined && !/^https?:\/\/./.test(URL.canParse(httpsProxy) ? httpsProxy : "")) {
    reader.addIssue(
      "HTTPS_PROXY",
      "The proxy of the environment (HTTPS_PROXY or HTTP_PROXY) is not a valid http:// or https:// URL.",
      "Correct it or unset it.",
    );
    return { httpsProxy: undefined, noProxy: undefined };
  }
  return { httpsProxy, noProxy: readEitherCase("NO_PROXY") };
}
