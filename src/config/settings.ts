/** Reads the settings that consist of one variable: its name, default and check (docs/reference.md, Configuration). */
import { join } from "node:path";
import { POLL_INTERVAL_SECONDS } from "../contract/service-limits.ts";
import { VOICE_IDS } from "../contract/voices.ts";
import { deriveDefaultStateDir } from "../environment.ts";
import { LOG_LEVELS } from "../log.ts";
import { readProxy } from "./proxy.ts";
import { isLoopbackHost } from "./service-address.ts";
import { NO_PRONUNCIATIONS, NO_VOICE_NOTES, readPronunciations, readVoiceNotes } from "./setting-files.ts";
import { createRangeCheck, type SettingsReader } from "./settings-reader.ts";

/**
 * Whether clients get links to saved files in addition to the paths. With `auto`, only a client that is known to show
 * links gets links.
 */
const RESOURCE_LINKS = ["auto", "always", "never"] as const;
export type ResourceLinks = (typeof RESOURCE_LINKS)[number];

/** The caption files of each narration: WebVTT, SubRip, or both. */
const CAPTION_FILES = ["vtt", "srt", "both"] as const;
export type CaptionFiles = (typeof CAPTION_FILES)[number];

export type Settings = ReturnType<typeof readSettings>;

/**
 * Reads all settings. Their order in this function is the order in which issues are reported.
 *
 * @param storeUrl the address of the ledger's database; null if the ledger is on this machine
 * @param url the service's address; undefined if it is unknown
 */
export function readSettings(reader: SettingsReader, storeUrl: string | null, url: URL | undefined) {
  const { env, platform, home } = reader.source;
  // If the address of the service is unknown, accept what only a service on this machine may have, because the address
  // itself is reported as an issue.
  const isRemote = url !== undefined && !isLoopbackHost(url.hostname);
  return {
    timeScale: readTimeScale(reader, isRemote),
    /**
     * The output folder; null, with an issue, if the setting is invalid. A missing setting also gives null and an issue
     * if there is no home folder, because the default is inside the home folder.
     */
    outputDir: reader.readPath("AUDIO_OUTPUT_DIR", home === null ? null : join(home, "audio-generation")),
    /**
     * The state folder. An invalid setting is an issue and gives null. A missing setting gives the platform's folder
     * for program state. If that folder is unknown, the result is null. This is an issue only if the ledger is on this
     * machine.
     */
    stateDir: reader.readPath(
      "AUDIO_STATE_DIR",
      deriveDefaultStateDir(env, platform, home),
      storeUrl === null,
    ),
    /** The folder of input files; null means that no file may be read. */
    inputDir: reader.readPath("AUDIO_INPUT_DIR", null, false),
    defaultVoice: reader.readChoice("AUDIO_DEFAULT_VOICE", VOICE_IDS) ?? null,
    voiceNotes: readFileSetting(reader, "AUDIO_VOICE_NOTES", readVoiceNotes, NO_VOICE_NOTES),
    pronunciations: readFileSetting(reader, "AUDIO_PRONUNCIATIONS", readPronunciations, NO_PRONUNCIATIONS),
    captions: reader.readChoice("AUDIO_CAPTIONS", CAPTION_FILES) ?? "vtt",
    resourceLinks: reader.readChoice("AUDIO_RESOURCE_LINKS", RESOURCE_LINKS) ?? "auto",
    waitSeconds: reader.readNumber(
      "AUDIO_WAIT_SECONDS",
      45,
      createRangeCheck(0, 3600),
      "a number from 0 to 3600",
    ),
    pollIntervalSeconds: readPollInterval(reader, isRemote),
    creditBudget: readBudget(reader),
    logLevel: reader.readChoice("AUDIO_LOG_LEVEL", LOG_LEVELS) ?? "warn",
    /** The file that the log is appended to; null for standard error. */
    logFile: reader.readPath("AUDIO_LOG_FILE", null, false),
    /** The proxy that requests to the service use; null for none. */
    proxy: readProxy(reader, url),
  } as const;
}

function readTimeScale(reader: SettingsReader, isRemote: boolean): number {
  const name = "AUDIO_TIME_SCALE";
  const timeScale = reader.readNumber(name, 1, createRangeCheck(0.001, 1), "a number from 0.001 to 1");
  if (timeScale !== 1 && isRemote)
    reader.addIssue(name, `${name} is for tests against this machine only.`, `Unset ${name}.`);
  return timeScale;
}

function readPollInterval(reader: SettingsReader, isRemote: boolean): number {
  const shortest = isRemote ? POLL_INTERVAL_SECONDS : 0.01;
  const rule = `a number from ${shortest} to 3600${isRemote ? " (shorter ones only for a service on this machine)" : ""}`;
  const accepts = createRangeCheck(shortest, 3600);
  return reader.readNumber("AUDIO_POLL_INTERVAL_SECONDS", POLL_INTERVAL_SECONDS, accepts, rule);
}

/**
 * Returns null if there is no budget. An invalid budget becomes 0, so that no submission is sent until it is corrected.
 */
function readBudget(reader: SettingsReader): number | null {
  const name = "AUDIO_CREDIT_BUDGET";
  if (reader.readText(name) === undefined) return null;
  const accepts = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;
  return reader.readNumber(name, 0, accepts, "a whole number of credits, 0 or more");
}

/**
 * Reads the file that a setting names.
 *
 * @param read returns the value, or a clause that says what is wrong with the file
 */
function readFileSetting<T extends object>(
  reader: SettingsReader,
  name: string,
  read: (path: string) => T | string,
  none: T,
): T {
  const path = reader.readPath(name, null, false);
  if (path === null) return none;
  const value = read(path);
  if (typeof value !== "string") return value;
  reader.addIssue(
    name,
    `${name} is ${JSON.stringify(path)}, which ${value}.`,
    `Correct it or unset ${name}.`,
  );
  return none;
}
