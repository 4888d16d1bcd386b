/** Opens a sound: reads it whole if it is small and short, otherwise in segments. */
import { createMp3Cutter } from "./mp3.ts";
import { createOggCutter } from "./ogg.ts";
import { createPieceLoader, type PieceLoader } from "./pieces.ts";
import {
  type CompleteSound,
  type Cutter,
  createSegmentReader,
  DamagedFileError,
  MAX_WHOLE_BYTES,
  MAX_WHOLE_SECONDS,
  type Segment,
} from "./segment-reader.ts";
import { type AudioFile, MIME_TYPES } from "./shown-result.ts";
import { buildPcmLayout, buildWav, createSamplesCutter, createWavCutter } from "./wav.ts";

const HEAD_BYTES = 512 * 1024;

/**
 * Creates the cutter for a sound's format from its first bytes.
 *
 * @throws HostError, DamagedFileError
 */
export async function loadCutter(audioFile: AudioFile, pieces: PieceLoader): Promise<Cutter> {
  const { format, sizeBytes, seconds } = audioFile;
  if (format === "pcm") return createSamplesCutter(buildPcmLayout(audioFile.sampleRateHz), 0, sizeBytes);
  const head = await pieces.read(0, HEAD_BYTES);
  if (format === "wav") return createWavCutter(head, sizeBytes);
  return format === "ogg" ? createOggCutter(head, sizeBytes, seconds) : createMp3Cutter(head, sizeBytes);
}

const signatureChecks: Readonly<Record<AudioFile["format"], (head: string) => boolean>> = {
  mp3: (head) => head.startsWith("ID3") || head.startsWith("\u00ff"),
  wav: (head) => head === "RIFF" || head === "RF64",
  pcm: () => true,
  ogg: (head) => head === "OggS",
};

/**
 * Opens a sound.
 *
 * @throws HostError, DamagedFileError
 */
export async function openAudioFile(audioFile: AudioFile): Promise<CompleteSound> {
  const { format, sizeBytes, seconds } = audioFile;
  const pieces = createPieceLoader(audioFile.uri, sizeBytes);
  if (sizeBytes > MAX_WHOLE_BYTES || (seconds ?? 0) > MAX_WHOLE_SECONDS)
    return createSegmentReader(pieces, await loadCutter(audioFile, pieces), seconds);
  const bytes = await pieces.read(0, sizeBytes);
  if (!signatureChecks[format](String.fromCharCode(...bytes.subarray(0, 4)))) throw new DamagedFileError();
  const segment: Segment = {
    startSeconds: 0,
    // The browser finds the duration when it decodes the bytes.
    endSeconds: Number.POSITIVE_INFINITY,
    leadInSeconds: 0,
    isLast: true,
    bytes: format === "pcm" ? buildWav(buildPcmLayout(audioFile.sampleRateHz), bytes) : bytes,
    mimeType: MIME_TYPES[format],
  };
  return { durationSeconds: Number.POSITIVE_INFINITY, readAt: async () => segment };
}
