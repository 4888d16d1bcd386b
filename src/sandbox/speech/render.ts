/** Renders a speech request to an audio file, in the calling thread. */
import { VOICES } from "../../contract/voices.ts";
import { chooseEncoderRateHz, encode } from "./encode/encode.ts";
import { RATE_STEP_HZ, resample } from "./sound/resample.ts";
import { amplify, brighten, fadeEnds, findPeak, withoutSilentEnds } from "./sound/shape.ts";
import { type SpeechRequest, type SpokenAudio, UnspeakablePromptError } from "./speech-request.ts";
import { FLITE_RATE_HZ, speakWithFlite } from "./synthesis/flite.ts";
import { deriveTraits, type VoiceTraits } from "./synthesis/voices.ts";
import { type Gap, type Phrase, splitPhrases } from "./text/phrases.ts";
import { readPrompt } from "./text/prompt.ts";

/**
 * Maximum length of the audio in seconds: five times 120 s, the length at which the charge reaches its maximum. Only
 * the longest prompts in syllabic scripts come close to the 600 s.
 */
const MAX_AUDIO_SECONDS = 600;
/** Amplitude of the loudest sample at volume 1. It is below 0.5, so that volume 2 does not clip. */
const PEAK = 0.42;
const SEMITONES_PER_OCTAVE = 12;

/**
 * Seconds of silence after a phrase at speed 1. A higher speed shortens the silence by the same factor as the speech.
 */
const GAP_SECONDS: Readonly<Record<Gap, number>> = { none: 0.03, short: 0.16, long: 0.32 };
const LEAD_SECONDS = 0.06;
const TAIL_SECONDS = 0.1;

const toSemitones = ({ pitch, variation }: SpeechRequest): number => pitch + (variation?.semitones ?? 0);

function deriveRequestTraits({ voice, variation }: SpeechRequest): VoiceTraits {
  const traits = deriveTraits(voice);
  return { ...traits, tempo: traits.tempo * (variation?.tempo ?? 1) };
}

/** Renders one phrase at `rateHz`, without silence before and after it. */
async function renderPhrase(
  phrase: Phrase,
  traits: VoiceTraits,
  request: SpeechRequest,
  rateHz: number,
): Promise<Float32Array> {
  // Shift the formants: treat the samples as if they had another rate. This changes the formants, the pitch and the
  // duration. The engine is therefore asked for a pitch and a duration that compensate for the change, so that only the
  // formants differ.
  const assumedRateHz = Math.round((FLITE_RATE_HZ * traits.formantShift) / RATE_STEP_HZ) * RATE_STEP_HZ;
  const shift = assumedRateHz / FLITE_RATE_HZ;
  const raw = await speakWithFlite({
    tokens: phrase.tokens,
    voice: traits.engineVoice,
    meanF0Hz: (traits.meanF0Hz / shift) * 2 ** (toSemitones(request) / SEMITONES_PER_OCTAVE),
    durationStretch: shift / (request.speed * traits.tempo),
  });
  const sound = withoutSilentEnds(raw, assumedRateHz);
  brighten(sound, assumedRateHz, traits.brightness);
  fadeEnds(sound, assumedRateHz);
  return resample(sound, assumedRateHz, rateHz);
}

/** Renders all phrases with silences between them, up to `MAX_AUDIO_SECONDS`. Returns null if nothing is audible. */
async function renderSamples(request: SpeechRequest, rateHz: number): Promise<Float32Array | null> {
  const traits = deriveRequestTraits(request);
  const languages = VOICES.find((voice) => voice.id === request.voice)?.languages ?? [];
  const silence = (seconds: number): number =>
    Math.round((seconds * rateHz) / (request.speed * traits.tempo));
  const renderedPhrases: { start: number; sound: Float32Array }[] = [];
  const longest = MAX_AUDIO_SECONDS * rateHz;
  let length = silence(LEAD_SECONDS);
  let gap = 0;
  for (const phrase of splitPhrases(await readPrompt(request.prompt, languages))) {
    const sound = await renderPhrase(phrase, traits, request, rateHz);
    if (sound.length === 0) continue;
    renderedPhrases.push({ start: length + gap, sound });
    length += gap + sound.length;
    gap = silence(GAP_SECONDS[phrase.gapAfter]);
    if (length >= longest) break;
  }
  if (renderedPhrases.length === 0) return null;
  const samples = new Float32Array(Math.min(length + silence(TAIL_SECONDS), longest));
  for (const { start, sound } of renderedPhrases) {
    if (start < samples.length) samples.set(sound.subarray(0, samples.length - start), start);
  }
  return samples;
}

/**
 * Renders a request to a file. The same request always gives the same bytes.
 *
 * @throws {UnspeakablePromptError} if the prompt contains nothing that can be spoken
 */
export async function renderSpeech(request: SpeechRequest): Promise<SpokenAudio> {
  const samples = await renderSamples(
    request,
    chooseEncoderRateHz(request.output_format, request.sample_rate),
  );
  if (samples === null) throw new UnspeakablePromptError();
  amplify(samples, (PEAK * request.volume) / findPeak(samples));
  return encode(samples, request.output_format, request.sample_rate);
}
