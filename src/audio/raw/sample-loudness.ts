/** Measures the loudness of uncompressed samples. */
import { type Loudness, SILENT_DB } from "../loudness.ts";
import { type PartFile, WINDOW_BYTES } from "../part-file.ts";
import { computePcmChannels } from "./join-pcm.ts";
import { readWav, WAVE_FLOAT, WAVE_PCM, type WavFormat } from "./wav-file.ts";

const STEP_SECONDS = 0.02;

type ReadSample = (bytes: Buffer, offset: number) => number;

/** Returns a function that reads a sample as a share of full scale. */
function chooseSampleReader({
  encoding,
  bitsPerSample,
}: Pick<WavFormat, "encoding" | "bitsPerSample">): ReadSample {
  if (encoding === WAVE_FLOAT) {
    return bitsPerSample === 64
      ? (bytes, offset) => bytes.readDoubleLE(offset)
      : (bytes, offset) => bytes.readFloatLE(offset);
  }
  // Samples of 8 bits are unsigned.
  if (bitsPerSample === 8) return (bytes, offset) => (bytes.readUInt8(offset) - 128) / 128;
  const sampleBytes = bitsPerSample / 8;
  return (bytes, offset) => bytes.readIntLE(offset, sampleBytes) / 2 ** (bitsPerSample - 1);
}

interface Samples {
  readonly offset: number;
  readonly sizeBytes: number;
  readonly format: Pick<WavFormat, "encoding" | "bitsPerSample" | "channels" | "sampleRateHz">;
}

function computeLevelDb(bytes: Buffer, sampleBytes: number, read: ReadSample): number {
  let sum = 0;
  for (let offset = 0; offset + sampleBytes <= bytes.byteLength; offset += sampleBytes) {
    const sample = read(bytes, offset);
    sum += sample * sample;
  }
  const meanSquare = (sum * sampleBytes) / Math.max(sampleBytes, bytes.byteLength);
  // A level that is NaN or infinite counts as silence. Some floating-point samples cause such a level.
  return meanSquare > 0 && Number.isFinite(meanSquare)
    ? Math.max(SILENT_DB, 10 * Math.log10(meanSquare))
    : SILENT_DB;
}

async function measureLoudness(file: PartFile, { offset, sizeBytes, format }: Samples): Promise<Loudness> {
  const sampleBytes = format.bitsPerSample / 8;
  const frameBytes = sampleBytes * format.channels;
  const stepFrames = Math.max(1, Math.round(STEP_SECONDS * format.sampleRateHz));
  const stepBytes = Math.min(stepFrames * frameBytes, WINDOW_BYTES - (WINDOW_BYTES % frameBytes));
  const readSample = chooseSampleReader(format);
  const levelsDb: number[] = [];
  for (let measuredBytes = 0; measuredBytes < sizeBytes; measuredBytes += stepBytes) {
    const step = await file.readBytes(offset + measuredBytes, Math.min(stepBytes, sizeBytes - measuredBytes));
    levelsDb.push(computeLevelDb(step, sampleBytes, readSample));
  }
  return {
    levelsDb,
    stepSeconds: stepBytes / frameBytes / format.sampleRateHz,
    offsetSeconds: 0,
    blurSeconds: 0,
  };
}

/** Measures the mean level of each 20 ms of a wav file. */
export async function measureWavLoudness(file: PartFile): Promise<Loudness> {
  return measureLoudness(file, await readWav(file));
}

/** Measures the mean level of each 20 ms of a pcm file with 16-bit samples. */
export async function measurePcmLoudness(
  file: PartFile,
  part: { readonly durationSeconds: number; readonly sampleRateHz: number },
): Promise<Loudness> {
  const channels = computePcmChannels(file, part);
  const format = { encoding: WAVE_PCM, bitsPerSample: 16, channels, sampleRateHz: part.sampleRateHz };
  return measureLoudness(file, { offset: 0, sizeBytes: file.sizeBytes, format });
}
