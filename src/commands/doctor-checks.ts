/** Single checks of `doctor`: what a check says when it fails, in words for a person, and within what time. */
import { connect } from "node:net";
import type { ProxySettings } from "../config/config.ts";
import { AudioError, type ErrorCode } from "../errors.ts";
import { describeCause } from "../log.ts";
import { REMEDIES } from "../server/remedies.ts";

export interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  readonly fix: string | null;
}

/** Nothing is waited for longer than this, whatever hangs. */
export const DEADLINE_MS = 8_000;
const PROXY_DEADLINE_MS = 3_000;

export const passed = (name: string, detail: string): Check => ({ name, ok: true, detail, fix: null });
export const failed = (name: string, detail: string, fix: string): Check => ({
  name,
  ok: false,
  detail,
  fix,
});

/** The server's remedies speak to an assistant in the middle of a call; here a person reads, and no call is under way. */
const FIXES: Partial<Record<ErrorCode, string>> = {
  invalid_api_key: "Set AUDIO_API_KEY to an active key of the account at this address.",
  network_error:
    "Check the spelling of AUDIO_BASE_URL and this machine's connection; behind a proxy, set HTTPS_PROXY.",
  timeout: "Check AUDIO_BASE_URL and this machine's connection; behind a proxy, set HTTPS_PROXY.",
  unexpected_response:
    "What answers there is not the audio service: check AUDIO_BASE_URL, a path at its end included.",
  api_unavailable: "The service itself is not available: try again later.",
  temporarily_unavailable: "The service itself is not available: try again later.",
  output_not_writable: "Make the folder writable, or set AUDIO_OUTPUT_DIR to one that is.",
  disk_full: "Free disk space, or set AUDIO_OUTPUT_DIR to a folder on another disk.",
};

export function failedBy(name: string, error: unknown): Check {
  if (!(error instanceof AudioError)) {
    return failed(
      name,
      describeCause(error),
      "The detail says what to change; the README explains each setting.",
    );
  }
  const { code, message, cause, remedy } = error;
  // Most messages name the system's code already; where one does not, the cause is all there is to go by.
  const isExplained = cause === undefined || /\([A-Z][A-Z0-9_]+\)|: [A-Z]+[ :]/.test(message);
  const detail = isExplained ? message : `${message} (${describeCause(cause)})`;
  return failed(name, detail, remedy ?? FIXES[code] ?? REMEDIES[code]);
}

/** A check that must end: one that does not, fails, naming what hangs. */
export async function within(name: string, fix: string, check: () => Promise<string>): Promise<Check> {
  const hanging = Promise.withResolvers<Check>();
  const timer = setTimeout(
    () => hanging.resolve(failed(name, `no answer within ${DEADLINE_MS / 1000} seconds`, fix)),
    DEADLINE_MS,
  );
  const run = check().then(
    (detail) => passed(name, detail),
    (error: unknown) => failedBy(name, error),
  );
  try {
    return await Promise.race([run, hanging.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Whether requests to this host go past the proxy, as NO_PROXY's usual spellings say. */
function bypassesProxy(host: URL, noProxy: string | undefined): boolean {
  const entries = (noProxy ?? "").split(/[\s,]+/).filter((entry) => entry !== "");
  return entries.some((entry) => {
    const name = entry.replace(/^\*?\./, "").replace(/:\d+$/, "");
    return entry === "*" || host.hostname === name || host.hostname.endsWith(`.${name}`);
  });
}

/** What keeps this machine from the proxy; `null`: it is there, or none is used. */
export async function proxyFault(
  baseUrl: string,
  { httpsProxy, noProxy }: ProxySettings,
): Promise<string | null> {
  const target = new URL(baseUrl);
  if (httpsProxy === undefined || target.protocol !== "https:" || bypassesProxy(target, noProxy)) return null;
  const { hostname, port, protocol, host } = new URL(httpsProxy);
  const answer = Promise.withResolvers<string | null>();
  const socket = connect({
    host: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port) || (protocol === "https:" ? 443 : 80),
  });
  socket.setTimeout(PROXY_DEADLINE_MS, () => answer.resolve(`the proxy ${host} does not answer`));
  socket.once("connect", () => answer.resolve(null));
  socket.once("error", (error) => {
    const code = "code" in error ? ` (${String(error.code)})` : "";
    answer.resolve(`the proxy ${host} cannot be reached${code}`);
  });
  try {
    return await answer.promise;
  } finally {
    socket.destroy();
  }
}
