/** Defines how each voice preset sounds, and the default voice for requests without a preset. */
import type { VoiceId } from "../../../contract/voices.ts";
import type { FliteVoice } from "./flite.ts";

/** The settings that make one voice sound different from another. */
export interface VoiceTraits {
  readonly engineVoice: FliteVoice;
  /** Mean pitch in Hz when the request's `pitch` is 0. */
  readonly meanF0Hz: number;
  /** Factor of the formant frequencies. Above 1 the speaker sounds as if they had a smaller head. */
  readonly formantShift: number;
  /** Factor of the engine's own speaking rate: 1.1 is a tenth faster. */
  readonly tempo: number;
  /** Change of treble: 0 keeps the engine's timbre, 1 roughly doubles the amplitude above 1.5 kHz. */
  readonly brightness: number;
}

function buildTraits(
  engineVoice: FliteVoice,
  meanF0Hz: number,
  formantShift: number,
  tempo: number,
  brightness: number,
): VoiceTraits {
  return { engineVoice, meanF0Hz, formantShift, tempo, brightness };
}

/**
 * Settings of each preset. The program asks the engine for the mean pitch divided by the formant shift. This quotient
 * must be between 110 and 220 Hz, so that an octave up or down stays within the engine's limits of 50 to 500 Hz.
 */
const VOICES: Readonly<Record<VoiceId, VoiceTraits>> = {
  stokie_en: buildTraits("awb", 112, 0.96, 1.05, 0.2),
  vivi_mixed_en_zh_ja_es_id: buildTraits("slt", 214, 1.08, 1.08, 0.3),
  mindy_en_es_id_pt_zh: buildTraits("slt", 196, 1.02, 1, 0),
  kian_en_zh: buildTraits("awb", 132, 1.04, 1.1, 0.4),
  cedric_en_zh: buildTraits("awb", 102, 0.9, 0.94, -0.2),
  sophie_en_zh: buildTraits("slt", 186, 1, 1.03, 0.4),
  jean_en_zh: buildTraits("slt", 172, 0.97, 0.97, -0.2),
  magnus_en_zh: buildTraits("kal16", 98, 0.86, 0.92, -0.3),
  mabel_en_zh: buildTraits("slt", 160, 0.94, 0.9, -0.4),
  nadia_en_zh: buildTraits("slt", 180, 0.99, 0.94, 0.7),
  opal_en_zh: buildTraits("slt", 205, 1.05, 0.92, -0.3),
  pearl_en_zh: buildTraits("slt", 226, 1.12, 0.98, 0.1),
  quentin_en_zh: buildTraits("kal16", 122, 1, 1.02, 0),
  corinne_mixed_en_zh: buildTraits("slt", 166, 0.96, 1.1, 0.2),
  esther_mixed_en_zh: buildTraits("slt", 152, 0.92, 0.98, 0),
  lyla_mixed_en_zh: buildTraits("slt", 236, 1.15, 1.12, 0.5),
  tracy_es_zh: buildTraits("slt", 192, 1.01, 1.14, -0.1),
  sandy_es_mixed_en_zh: buildTraits("slt", 208, 1.06, 1.02, 0.6),
  felix_zh: buildTraits("awb", 142, 1.08, 1, 0),
  celeste_zh: buildTraits("slt", 218, 1.1, 0.88, -0.2),
  monkey_king_zh: buildTraits("awb", 240, 1.25, 1.2, 0.8),
};

const DEFAULT_VOICE = buildTraits("slt", 178, 0.98, 1, 0.1);

/** Returns the traits of a voice preset. Returns those of the default voice if `voice` is `undefined`. */
export function deriveTraits(voice: VoiceId | undefined): VoiceTraits {
  return voice === undefined ? DEFAULT_VOICE : VOICES[voice];
}
