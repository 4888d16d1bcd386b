/** The audio of all 24 pairs of format and sample rate has that format and rate. */
import { afterAll, expect, test } from "vitest";
import { looksLikeFormat, OUTPUT_FORMATS, SAMPLE_RATES } from "../../../src/contract/audio-format.ts";
import { createSpeechEngine } from "../../../src/sandbox/speech/speech.ts";
import { decodeAudio, describeWithFfprobe, probeAudio } from "../../support/ffprobe.ts";
import { loudness, pcmSamples } from "./measure.ts";
import { speechRequest } from "./speech-request.ts";

const CODECS = { mp3: "mp3", wav: "pcm_s16le", pcm: "pcm_s16le", ogg_opus: "opus" };
const REFERENCE_RATE_HZ = 16000;

const engine = createSpeechEngine();
afterAll(() => engine.close());

const pairs = OUTPUT_FORMATS.flatMap((format) =>
  SAMPLE_RATES.map((sampleRateHz) => ({ format, sampleRateHz })),
);

describeWithFfprobe("every format at every rate", () => {
  test.each(pairs)("$format at $sampleRateHz Hz", async ({ format, sampleRateHz }) => {
    const request = speechRequest({ outputFormat: format, sampleRate: sampleRateHz });
    const { bytes, audioSeconds } = await engine.speak(request);
    expect(looksLikeFormat(format, bytes)).toBe(true);
    const probed = await probeAudio(bytes, { format, sampleRateHz });
    expect(probed).toMatchObject({ codec: CODECS[format], sampleRateHz, channels: 1 });
    expect(Math.abs(probed.durationSeconds - audioSeconds)).toBeLessThan(0.02);
  });

  test.each(OUTPUT_FORMATS)(
    "%s decodes to the exact length, and to the same sound as the others",
    async (format) => {
      const claimed = { format, sampleRateHz: 24000 };
      const { bytes, audioSeconds } = await engine.speak(
        speechRequest({ outputFormat: format, sampleRate: 24000 }),
      );
      const decoded = await decodeAudio(bytes, claimed, REFERENCE_RATE_HZ);
      expect(decoded.length / REFERENCE_RATE_HZ).toBeCloseTo(audioSeconds, 2);

      const plain = await engine.speak(speechRequest({ outputFormat: "pcm", sampleRate: 16000 }));
      const reference = pcmSamples(plain.bytes);
      const energies = [decoded, reference].map((samples) => loudness(samples) ** 2 * samples.length);
      expect(energies[0] ?? 0).toBeGreaterThan((energies[1] ?? 0) * 0.9);
      expect(energies[0] ?? 0).toBeLessThan((energies[1] ?? 0) * 1.1);
    },
  );
});
