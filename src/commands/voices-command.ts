/** The `voices` command: lists voices and their samples, makes samples, and writes a page that plays them. */
import { createInterface } from "node:readline/promises";
import { MAX_TIMER_MS, systemClock } from "../clock.ts";
import { MINIMUM_CHARGE_CREDITS } from "../contract/billing.ts";
import { LIMIT_WINDOW_SECONDS, SUBMISSIONS_PER_WINDOW } from "../contract/service-limits.ts";
import { buildSampleInput, chooseSampleLanguage, VOICES, type Voice } from "../contract/voices.ts";
import { AudioError } from "../errors.ts";
import { writeGeneratedPage } from "../files/write-generated-page.ts";
import type { Requests } from "../requests/requests.ts";
import { formatIsoWithOffset } from "../tools/list-entry.ts";
import { ProgressLine } from "./progress-line.ts";
import { runWithWorkflow } from "./run-with-workflow.ts";
import { type PageEntry, renderAudioPage, VOICES_MARKER } from "./tasks-page.ts";
import { escapeForTerminal } from "./terminal-messages.ts";
import { CommandError } from "./usage-errors.ts";

export interface VoicesCommand {
  /** Whether to make the missing samples. A sample costs 10 credits, once per account. */
  readonly makesSamples: boolean;
  /** Whether the person has agreed to the price beforehand. */
  readonly isAgreed: boolean;
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

async function makeSample(requests: Requests, voice: Voice, signal: AbortSignal): Promise<VoiceSample> {
  // Wait without a limit, because the command ends only when every sample is made or has failed.
  const call = { signal, waitMs: MAX_TIMER_MS, onProgress: () => undefined };
  const request = { input: buildSampleInput(voice), callPronunciations: [], pronunciations: [], take: 1 };
  try {
    const view = await requests.generate({ ...request, fileName: voice.id, mayReplace: false }, call);
    const creditsNow = view.replayed ? 0 : (view.billing?.charged_credits ?? 0);
    return { voice, path: view.audio?.path ?? null, creditsNow, error: null };
  } catch (error) {
    if (!(error instanceof AudioError)) throw error;
    return { voice, path: null, creditsNow: 0, error };
  }
}

/** Says what samples cost, and how long they take within the service's limit of submissions. */
function describePrice(count: number): string {
  const [costs, take] = count === 1 ? ["sample costs", "takes"] : ["samples cost", "take"];
  const minutes = Math.ceil((count / SUBMISSIONS_PER_WINDOW) * (LIMIT_WINDOW_SECONDS / 60));
  return `${count} ${costs} about ${count * MINIMUM_CHARGE_CREDITS} credits, once for this account, and ${take} about ${minutes} min`;
}

/**
 * Asks whether to pay for samples.
 *
 * @throws CommandError if there is no terminal to ask, or if the answer is no
 */
async function askForConsent(price: string): Promise<void> {
  if (!process.stdin.isTTY) throw new CommandError(`${price}; nothing was sent. To make them, add --yes.`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`${price}. Make them? [y/N] `).finally(() => terminal.close());
  if (!/^y(?:es)?$/i.test(answer.trim())) throw new CommandError("nothing was sent.");
}

/** Makes the samples that are missing, and shows how many are there. */
async function makeMissingSamples(
  requests: Requests,
  samples: readonly VoiceSample[],
  signal: AbortSignal,
): Promise<VoiceSample[]> {
  const line = new ProgressLine(process.stderr);
  const missingCount = samples.filter(({ path }) => path === null).length;
  let [endedCount, credits] = [0, 0];
  const show = (): void => line.show(`Sample ${endedCount} of ${missingCount} made; ${credits} credits`);
  show();
  try {
    return await Promise.all(
      samples.map(async (sample) => {
        if (sample.path !== null) return sample;
        const made = await makeSample(requests, sample.voice, signal);
        endedCount += 1;
        credits += made.creditsNow;
        show();
        return made;
      }),
    );
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new CommandError(
      `interrupted; ${credits} credits were charged so far. What was sent is charged, too; the same command fetches it, and pays for nothing twice.`,
    );
  } finally {
    line.end();
  }
}

function formatLine({ voice, path, error }: VoiceSample): string {
  const state = path ?? error?.message ?? "no sample here";
  return escapeForTerminal(`${voice.id}: ${state}`);
}

const buildPageEntry = ({ voice, path, creditsNow, error }: VoiceSample): PageEntry => ({
  description: `${voice.name}: ${buildSampleInput(voice).prompt}`,
  dateTime: formatIsoWithOffset(systemClock.wallMs()),
  status: voice.canMixLanguages ? `${voice.languages.join(", ")}, mixed` : voice.languages.join(", "),
  credits: creditsNow === 0 ? null : creditsNow,
  charges: [],
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
 * @throws CommandError for issues of the settings or the store, if the price is not agreed to, or if `htmlFile` names a
 *   file that this command did not write
 */
export async function runVoicesCommand(command: VoicesCommand): Promise<number> {
  const { makesSamples, isAgreed, htmlFile } = command;
  return await runWithWorkflow(false, async ({ provider, signal }) => {
    if (provider.config.serviceAccess === null && !makesSamples && htmlFile === undefined) {
      const lines = VOICES.map(({ id, languages }) => `${id}: ${languages.join(", ")}`);
      process.stdout.write(
        `${lines.join("\n")}\nSamples are listed once AUDIO_BASE_URL and AUDIO_API_KEY are set.\n`,
      );
      return 0;
    }
    const requests = await provider.requests();
    let samples: readonly VoiceSample[] = await Promise.all(
      VOICES.map(async (voice) => {
        const path = await requests.findSavedPath(buildSampleInput(voice));
        return { voice, path, creditsNow: 0, error: null };
      }),
    );
    const missingCount = samples.filter(({ path }) => path === null).length;
    if (makesSamples && missingCount > 0) {
      const price = describePrice(missingCount);
      if (isAgreed) process.stderr.write(`${price}.\n`);
      else await askForConsent(price);
      samples = await makeMissingSamples(requests, samples, signal);
    }
    process.stdout.write(`${samples.map(formatLine).join("\n")}\n`);
    const credits = samples.reduce((sum, { creditsNow }) => sum + creditsNow, 0);
    if (makesSamples) process.stdout.write(`${credits} credits were charged for samples now.\n`);
    if (htmlFile !== undefined) {
      const page = renderAudioPage(samples.map(buildPageEntry), {
        marker: VOICES_MARKER,
        title: "Voices",
        summary: `${VOICES.length} voices, ${samples.filter(({ path }) => path !== null).length} with a sample.`,
      });
      process.stdout.write(
        `Written: ${escapeForTerminal(await writeGeneratedPage(htmlFile, VOICES_MARKER, page))}\n`,
      );
    }
    return samples.some(({ error }) => error !== null) ? 1 : 0;
  });
}
