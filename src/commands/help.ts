/** The help of the command line. */
import { MINIMUM_CHARGE_CREDITS } from "../contract/billing.ts";
import {
  NARRATION_SETTING_NAMES,
  type NarrationSettingName,
  REQUEST_FIELDS,
} from "../contract/request-fields.ts";
import { VOICE_IDS } from "../contract/voices.ts";
import { isFlag, toOptionName } from "./narrate-options.ts";

/** Formats a setting as an option, such as `[--sample-rate RATE]`. */
function settingHelp(name: NarrationSettingName): string {
  const value = isFlag(REQUEST_FIELDS[name].schema) ? "" : ` ${name.split("_").at(-1)?.toUpperCase()}`;
  return `[--${toOptionName(name)}${value}]`;
}

const settings = NARRATION_SETTING_NAMES.map(settingHelp)
  .join(" ")
  .replaceAll(/(.{1,100}\])(?: |$)/g, "      $1\n");

export const HELP = `audio-generation-mcp: an MCP server that turns text into saved narration.

Usage:
  audio-generation-mcp                 serve MCP on stdio (settings from the environment)
  audio-generation-mcp --sandbox       the same against a built-in service: no account, no key, real audio
  audio-generation-mcp sandbox         serve the sandbox service alone
      [--port N] [--accounts FILE] [--processing-seconds S] [--time-scale X]
  audio-generation-mcp doctor [--json] check settings, folders, store, host and key; costs nothing
  audio-generation-mcp tasks [--json | --html FILE]
                                       what was asked for, its cost and its file; FILE becomes a page with players
  audio-generation-mcp voices [--sample] [--html FILE]
                                       the voices; --sample makes samples (about ${VOICE_IDS.length * MINIMUM_CHARGE_CREDITS} credits once), FILE plays them
  audio-generation-mcp narrate FILE|-  a text, book (.epub, .html) or subtitles (.srt, .vtt) to one audio file, or each
                                       row of a sheet (.csv, .tsv) to its own; without --max-credits: the price
${settings}      [--max-credits N] [--speaker NAME=ID]... [--pronounce WORD=SPELLING]...
      [--pause-seconds S] [--files one|chapters] [--chapters 3-5] [--retake TAKE[@SPEED]=QUOTE]... [--skip-failed]
      [--file-name NAME] [--json]
  audio-generation-mcp --help | --version

Settings: AUDIO_BASE_URL, AUDIO_API_KEY, AUDIO_OUTPUT_DIR, AUDIO_INPUT_DIR, AUDIO_STATE_DIR,
  AUDIO_STORE_URL, AUDIO_DEFAULT_VOICE, AUDIO_VOICE_NOTES, AUDIO_PRONUNCIATIONS, AUDIO_CAPTIONS, AUDIO_WAIT_SECONDS,
  AUDIO_POLL_INTERVAL_SECONDS,
  AUDIO_CREDIT_BUDGET, AUDIO_RESOURCE_LINKS, AUDIO_LOG_LEVEL, HTTPS_PROXY, HTTP_PROXY, NO_PROXY
`;
