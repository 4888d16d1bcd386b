/** Validates the service's address and its API key (docs/reference.md, Configuration). */
import { findPastingFault } from "./pasting-fault.ts";
import type { SettingsReader } from "./settings-reader.ts";

/** Address and API key of the service; `baseUrl` has no trailing slash. */
export interface ServiceAccess {
  readonly baseUrl: string;
  readonly apiKey: string;
}

/** Returns whether a host is this machine. Expects the host in the form that `URL` gives it. */
export function isLoopbackHost(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

/**
 * The placeholder for the key in the README's commands. A key that is still this placeholder is an issue, because
 * people copy the commands unchanged.
 */
const EXAMPLE_KEY = "your-api-key";

/**
 * Matches an address that ends with the API's path, or with the beginning of that path. Such an address is an issue,
 * because requests append the path themselves.
 */
const SERVICE_PATH = /\/api(?:\/v1(?:\/audio(?:\/generations)?)?)?\/*$/;

/**
 * Reads AUDIO_BASE_URL and AUDIO_API_KEY, and adds an issue for each of them that is missing or invalid. Removes
 * slashes from the end of the address.
 *
 * @returns the service, null if its address or key is missing or invalid; and its address, even if the key is invalid,
 *   undefined if no valid address is set
 */
export function readServiceSettings(reader: SettingsReader): {
  readonly service: ServiceAccess | null;
  readonly url: URL | undefined;
} {
  const url = readBaseUrl(reader);
  const apiKey = readApiKey(reader);
  if (url === undefined || apiKey === undefined) return { service: null, url };
  return { service: { baseUrl: `${url.origin}${url.pathname.replace(/\/+$/, "")}`, apiKey }, url };
}

function readBaseUrl(reader: SettingsReader): URL | undefined {
  const name = "AUDIO_BASE_URL";
  const fix = `Set ${name} to the service's address, such as https://audio.example.com.`;
  const text = reader.readText(name);
  if (text === undefined) return reader.addIssue(name, `${name} is not set.`, fix);
  const pasted = findPastingFault(text);
  if (pasted !== null) return reader.addIssue(name, `${name} ${pasted}.`, fix);
  if (!URL.canParse(text)) return reader.addIssue(name, `${name} is not a valid URL.`, fix);
  const url = new URL(text);
  if (url.username !== "" || url.password !== "") {
    return reader.addIssue(name, `${name} contains credentials.`, "Put the key into AUDIO_API_KEY alone.");
  }
  if (url.search !== "" || url.hash !== "") {
    return reader.addIssue(name, `${name} has a query or a fragment.`, fix);
  }
  const [path] = SERVICE_PATH.exec(url.pathname) ?? [];
  if (path !== undefined) {
    const addressWithoutPath = `${url.origin}${url.pathname.slice(0, -path.length)}`;
    const message = `${name} ends with ${path}, which the server adds by itself.`;
    return reader.addIssue(name, message, `Leave the path out: set ${name} to ${addressWithoutPath}.`);
  }
  if (url.protocol === "https:") return url;
  if (url.protocol === "http:" && isLoopbackHost(url.hostname)) return url;
  return reader.addIssue(
    name,
    url.protocol === "http:"
      ? `${name} uses plain http, which would send the key in clear.`
      : `${name} uses ${url.protocol}, which is not http or https.`,
    "Use https; plain http is accepted only for this machine (127.0.0.1, ::1, localhost).",
  );
}

function readApiKey(reader: SettingsReader): string | undefined {
  const name = "AUDIO_API_KEY";
  const fix = `Set ${name} to an active API key of your account.`;
  const text = reader.readText(name);
  if (text === undefined) return reader.addIssue(name, `${name} is not set.`, fix);
  const pasted = findPastingFault(text);
  if (pasted !== null) return reader.addIssue(name, `${name} ${pasted}.`, fix);
  if (text === EXAMPLE_KEY)
    return reader.addIssue(name, `${name} is still the example of the instructions.`, fix);
  if (/^https?:\/\//i.test(text)) {
    return reader.addIssue(
      name,
      `${name} holds an address.`,
      "Put the key there, and the address into AUDIO_BASE_URL.",
    );
  }
  if (/^Bearer\s/i.test(text)) {
    return reader.addIssue(name, `${name} begins with Bearer, which the server adds by itself.`, fix);
  }
  if (/^[\x21-\x7e]{1,1024}$/.test(text)) return text;
  return reader.addIssue(
    name,
    `${name} holds characters that no API key has (white space or non-ASCII).`,
    fix,
  );
}
