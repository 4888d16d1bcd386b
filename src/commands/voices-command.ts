/** The `voices` command: lists voices and their samples, makes samples, and writes a page that plays them. */
import { MAX_TIMER_MS, systemClock } from "../clock.ts";
import { readConfig } from "../config/config.ts";
import { listSecrets } from "../config/secrets.ts";
import { buildSampleInput, chooseSampleLanguage } from "../contract/voice-samples.ts";
import { VOICES, type Voice } from "../contract/voices.ts";
import { AudioError } from "../errors.ts";
import { writeGeneratedPage } from "../files/write-generated-page.ts";
import { createLog } from "../log.ts";
import { createRedact } from "../redaction.ts";
import type { Requests } from "../requests/requests.ts";
import { formatIsoWithOffset } from "../tools/local-time.ts";
import { escapeForTerminal } from "./escape-for-terminal.ts";
import { type PageEntry, renderAudioPage, VOICES_MARKER } from "./tasks-page.ts";
import { commandError } from "./terminal-messages.ts";
import { WorkflowProvider } from "./workflow-provider.ts";

export interface VoicesCommand {
  /** Whether to make the missing samples. A sample costs 10 credits, once per account. */
  readonly makesSamples: boolean;
  /** Path of the page to write; `undefined` to write none. */
  readonly htmlFile: string | undefined;
}

interface VoiceSample {
  readonly voice: Voice;
  readonly path: string | null;
  readonly creditsNow: number;
  /** The error that prevented the sample; `null` if there was none. */
  readonly error: AudioError | null;
}

async function sampleOfVoice(requests: Requests, voice: Voice, makesSamples: boolean): Promise<VoiceSample> {
  const input = buildSampleInput(voice);
  const savedPath = await requests.findSavedPath(input);
  if (savedPath !== null) return { voice, path: savedPath, creditsNow: 0, error: null };
  if (!makesSamples) return { voice, path: null, creditsNow: 0, error: null };
  // Wait without a limit, because the command ends only when every sample is made or has failed.
  const call = { signal: new AbortController().signal, waitMs: MAX_TIMER_MS, onProgress: () => undefined };
  try {
    const request = { input, callPronunciations: [], pronunciations: [], take: 1 };
    const view = await requests.generate({ ...request, fileName: null, mayReplace: false }, call);
    const creditsNow = view.replayed ? 0 : (view.billing?.charged_credits ?? 0);
    return { voice, path: view.audio?.path ?? null, creditsNow, error: null };
  } catch (error) {
    if (!(error instanceof AudioError)) throw error;
    return { voice, path: null, creditsNow: 0, error };
  }
}

function formatLine({ voice, path, error }: VoiceSample): string {
  const state = path ?? error?.message ?? "no sample here";
  return escapeForTerminal(`${voice.id}: ${state}`);
}

const buildPageEntry = ({ voice, path, error }: VoiceSample): PageEntry => ({
  description: `${voice.name}: ${buildSampleInput(voice).prompt}`,
  dateTime: formatIsoWithOffset(systemClock.wallMs()),
  status: voice.canMixLanguages ? `${voice.languages.join(", ")}, mixed` : voice.languages.join(", "),
  credits: null,
  charges: new Map(),
  seconds: null,
  voice: `sample in ${chooseSampleLanguage(voice)}`,
  take: 1,
  id: voice.id,
  paths: path === null ? [] : [path],
  missingPaths: [],
  next: error?.message ?? "voices --sample makes it, for about 10 credits.",
});

/**
 * Lists the voices, makes samples and writes the page, as requested.
 *
 * @returns the exit code: 1 if a requested sample could not be made
 * @throws CommandError for issues of the settings or the store, or if `htmlFile` names a file that this
 *   command did not write
 */
export async function runVoicesCommand({ makesSamples, htmlFile }: VoicesCommand): Promise<number> {
  const config = readConfig(process.env);
  const provider = new WorkflowProvider(config, false);
  const redact = createRedact(listSecrets(process.env));
  provider.log = createLog(config.logLevel, redact);
  // Keep the process alive, because the timers of the workflow do not.
  const keepAlive = setInterval(() => undefined, MAX_TIMER_MS);
  try {
    const requests = await provider.requests();
    const voiceSamples = await Promise.all(
      VOICES.map((voice) => sampleOfVoice(requests, voice, makesSamples)),
    );
    process.stdout.write(`${voiceSamples.map(formatLine).join("\n")}\n`);
    if (makesSamples) {
      const credits = voiceSamples.reduce((sum, { creditsNow }) => sum + creditsNow, 0);
      process.stdout.write(`${credits} credits were charged for samples now.\n`);
    }
    if (htmlFile !== undefined) {
      const page = renderAudioPage(voiceSamples.map(buildPageEntry), {
        marker: VOICES_MARKER,
        title: "Voices",
      });
      process.stdout.write(
        `Written: ${escapeForTerminal(await writeGeneratedPage(htmlFile, VOICES_MARKER, page))}\n`,
      );
    }
    return voiceSamples.some(({ error }) => error !== null) ? 1 : 0;
  } catch (error) {
    if (!(error instanceof AudioError)) throw error;
    throw commandError(error, redact);
  } finally {
    await provider.close();
    clearInterval(keepAlive);
  }
}
