/** Reads and judges every setting of the environment (docs/design.md, Configuration); faults are collected, never thrown. */
import { join } from "node:path";
import { POLL_INTERVAL_SECONDS } from "./contract/limits.ts";
import { VOICE_IDS, type VoiceId } from "./contract/voices.ts";
import { defaultStateFolder, type Environment, homeFolder, readValue } from "./environment.ts";
import { readFolder } from "./folder-setting.ts";
import { LOG_LEVELS, type LogLevel } from "./log.ts";
import { NO_VOICE_NOTES, readVoiceNotes, type VoiceNotes } from "./voice-notes.ts";

/** Who gets links to saved files beside their paths: those known to show them, all, or none. */
export const RESOURCE_LINKS = ["auto", "always", "never"] as const;
export type ResourceLinks = (typeof RESOURCE_LINKS)[number];

/** One thing wrong with the configuration, and what mends it. */
export interface ConfigFault {
  readonly variable: string;
  readonly message: string;
  readonly fix: string;
}

/** Where the service is and how to get in; `baseUrl` has no trailing slash. */
export interface ServiceAddress {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly isLoopback: boolean;
}

export interface ProxySettings {
  readonly httpsProxy: string | undefined;
  readonly noProxy: string | undefined;
}

export interface Config {
  /** `null` while address or key are missing or faulty; then `faults` says so. */
  readonly service: ServiceAddress | null;
  /** `null` only where a default needs a home folder and there is none, which is a fault. */
  readonly outputDir: string | null;
  /** `null` as above, but no fault with a ledger elsewhere. */
  readonly stateDir: string | null;
  readonly storeUrl: string | null;
  readonly defaultVoice: VoiceId | null;
  readonly voiceNotes: VoiceNotes;
  readonly resourceLinks: ResourceLinks;
  readonly waitSeconds: number;
  readonly pollIntervalSeconds: number;
  readonly creditBudget: number | null;
  readonly logLevel: LogLevel;
  readonly timeScale: number;
  readonly proxy: ProxySettings;
  readonly faults: readonly ConfigFault[];
}

/** Whether a host, as `URL` spells it, is this machine: the only place plain http may go to. */
export function isLoopbackHost(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

/** The service's own path, whole or in part, at the end of an address: requests append it, and would repeat it. */
const SERVICE_PATH = /\/api(?:\/v1(?:\/audio(?:\/generations)?)?)?\/*$/;

/** Collects faults while it reads, so that a person sees all of them at once. */
class Reader {
  readonly faults: ConfigFault[] = [];
  readonly #env: Environment;
  readonly #home: string | null;
  readonly #platform: NodeJS.Platform;

  constructor(env: Environment, home: string | null, platform: NodeJS.Platform) {
    this.#env = env;
    this.#home = home;
    this.#platform = platform;
  }

  fault(variable: string, message: string, fix: string): undefined {
    this.faults.push({ variable, message, fix });
    return undefined;
  }

  text(name: string): string | undefined {
    return readValue(this.#env, name);
  }

  number(name: string, fallback: number, accepts: (value: number) => boolean, rule: string): number {
    const text = this.text(name);
    if (text === undefined) return fallback;
    const value = /^[+-]?(\d+\.?\d*|\.\d+)$/.test(text) ? Number(text) : Number.NaN;
    if (accepts(value)) return value;
    this.fault(
      name,
      `${name} is ${JSON.stringify(text)}, but it must be ${rule}.`,
      `Set ${name} to ${rule}.`,
    );
    return fallback;
  }

  choice<T extends string>(name: string, values: readonly T[]): T | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = values.find((candidate) => candidate === text);
    const known = values.join(", ");
    return (
      value ??
      this.fault(name, `${name} is ${JSON.stringify(text)}, which is not known.`, `Use one of: ${known}.`)
    );
  }

  /** @param isNeeded whether it is a fault that there is neither a value nor a default */
  folder(name: string, fallback: string | null, isNeeded = true): string | null {
    const { folder, fault } = readFolder(this.#env, name, { home: this.#home, platform: this.#platform });
    if (fault !== null && (this.text(name) !== undefined || (fallback === null && isNeeded))) {
      this.faults.push(fault);
    }
    return folder ?? fallback;
  }

  voiceNotes(): VoiceNotes {
    const name = "AUDIO_VOICE_NOTES";
    const path = this.folder(name, null, false);
    if (path === null) return NO_VOICE_NOTES;
    const read = readVoiceNotes(path);
    if (typeof read !== "string") return read;
    this.fault(name, `${name} is ${JSON.stringify(path)}, which ${read}.`, `Correct it or unset ${name}.`);
    return NO_VOICE_NOTES;
  }

  baseUrl(): URL | undefined {
    const name = "AUDIO_BASE_URL";
    const fix = `Set ${name} to the service's address, such as https://audio.example.com.`;
    const text = this.text(name);
    if (text === undefined) return this.fault(name, `${name} is not set.`, fix);
    if (!URL.canParse(text)) return this.fault(name, `${name} is not a valid URL.`, fix);
    const url = new URL(text);
    if (url.username !== "" || url.password !== "") {
      return this.fault(name, `${name} contains credentials.`, "Put the key into AUDIO_API_KEY alone.");
    }
    if (url.search !== "" || url.hash !== "") {
      return this.fault(name, `${name} has a query or a fragment.`, fix);
    }
    const [path] = SERVICE_PATH.exec(url.pathname) ?? [];
    if (path !== undefined) {
      const rest = `${url.origin}${url.pathname.slice(0, -path.length)}`;
      const message = `${name} ends with ${path}, which the server adds by itself.`;
      return this.fault(name, message, `Leave the path out: set ${name} to ${rest}.`);
    }
    if (url.protocol === "https:") return url;
    if (url.protocol === "http:" && isLoopbackHost(url.hostname)) return url;
    return this.fault(
      name,
      url.protocol === "http:"
        ? `${name} uses plain http, which would send the key in clear.`
        : `${name} uses ${url.protocol}, which is not http or https.`,
      "Use https; plain http is accepted only for this machine (127.0.0.1, ::1, localhost).",
    );
  }

  apiKey(): string | undefined {
    const name = "AUDIO_API_KEY";
    const fix = `Set ${name} to an active API key of your account.`;
    const text = this.text(name);
    if (text === undefined) return this.fault(name, `${name} is not set.`, fix);
    if (/^[\x21-\x7e]{1,1024}$/.test(text)) return text;
    return this.fault(name, `${name} holds characters that no API key has (white space or non-ASCII).`, fix);
  }

  storeUrl(): string | undefined {
    const name = "AUDIO_STORE_URL";
    const text = this.text(name);
    if (text === undefined) return undefined;
    if (URL.canParse(text) && /^rediss?:$/.test(new URL(text).protocol)) return text;
    return this.fault(
      name,
      `${name} is not a redis:// or rediss:// URL.`,
      `Unset ${name} to keep the ledger on this machine, or use redis://host:6379.`,
    );
  }

  proxy(): ProxySettings {
    const either = (upper: string): string | undefined => this.text(upper) ?? this.text(upper.toLowerCase());
    const httpsProxy = either("HTTPS_PROXY") ?? either("HTTP_PROXY");
    if (httpsProxy !== undefined && !/^https?:\/\/./.test(URL.canParse(httpsProxy) ? httpsProxy : "")) {
      this.fault(
        "HTTPS_PROXY",
        "The proxy of the environment (HTTPS_PROXY or HTTP_PROXY) is not a valid http:// or https:// URL.",
        "Correct it or unset it.",
      );
      return { httpsProxy: undefined, noProxy: undefined };
    }
    return { httpsProxy, noProxy: either("NO_PROXY") };
  }
}

const between = (minimum: number, maximum: number) => (value: number) => value >= minimum && value <= maximum;

/**
 * Reads the whole configuration. Never throws: everything wrong is a {@link ConfigFault}, and the value used
 * meanwhile is the default.
 */
export function readConfig(
  env: Environment,
  platform: NodeJS.Platform = process.platform,
  home: string | null = homeFolder(platform),
): Config {
  const reader = new Reader(env, home, platform);
  const storeUrl = reader.storeUrl() ?? null;
  const url = reader.baseUrl();
  const apiKey = reader.apiKey();
  const isLoopback = url !== undefined && isLoopbackHost(url.hostname);
  const timeScaleRule = "a number from 0.001 to 1";
  const timeScale = reader.number("AUDIO_TIME_SCALE", 1, between(0.001, 1), timeScaleRule);
  if (timeScale !== 1 && url !== undefined && !isLoopback) {
    reader.fault(
      "AUDIO_TIME_SCALE",
      "AUDIO_TIME_SCALE is for tests against this machine only.",
      "Unset AUDIO_TIME_SCALE.",
    );
  }
  // An address that is not known yet is no reason to complain about what it may allow.
  const shortestPoll = isLoopback || url === undefined ? 0.01 : POLL_INTERVAL_SECONDS;
  const config = {
    service:
      url === undefined || apiKey === undefined
        ? null
        : { baseUrl: `${url.origin}${url.pathname.replace(/\/+$/, "")}`, apiKey, isLoopback },
    outputDir: reader.folder("AUDIO_OUTPUT_DIR", home === null ? null : join(home, "audio-generation")),
    stateDir: reader.folder("AUDIO_STATE_DIR", defaultStateFolder(env, platform, home), storeUrl === null),
    storeUrl,
    defaultVoice: reader.choice("AUDIO_DEFAULT_VOICE", VOICE_IDS) ?? null,
    voiceNotes: reader.voiceNotes(),
    resourceLinks: reader.choice("AUDIO_RESOURCE_LINKS", RESOURCE_LINKS) ?? "auto",
    waitSeconds: reader.number("AUDIO_WAIT_SECONDS", 45, between(0, 3600), "a number from 0 to 3600"),
    pollIntervalSeconds: reader.number(
      "AUDIO_POLL_INTERVAL_SECONDS",
      POLL_INTERVAL_SECONDS,
      between(shortestPoll, 3600),
      `a number from ${shortestPoll} to 3600${isLoopback ? "" : " (shorter ones only for a service on this machine)"}`,
    ),
    creditBudget: reader.text("AUDIO_CREDIT_BUDGET") === undefined ? null : readBudget(reader),
    logLevel: reader.choice("AUDIO_LOG_LEVEL", LOG_LEVELS) ?? "warn",
    timeScale,
    proxy: reader.proxy(),
  };
  return { ...config, faults: reader.faults };
}

/** A budget that cannot be read must not mean "no budget": the fault stops every create anyway, and 0 would too. */
function readBudget(reader: Reader): number {
  const accepts = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;
  return reader.number("AUDIO_CREDIT_BUDGET", 0, accepts, "a whole number of credits, 0 or more");
}
