/** Joins Opus parts packet by packet into one stream. */
import { BufferedWriter } from "../buffered-writer.ts";
import {
  computeChapterSpans,
  type JoinedAudio,
  type JoinPart,
  type JoinRequest,
  type Span,
} from "../join-request.ts";
import { requireSameProperties } from "../part-errors.ts";
import { mapParts, type PartFile } from "../part-file.ts";
import { buildHeadPacket, buildTagsPacket, type OpusHead } from "./head.ts";
import { PageWriter } from "./page-writer.ts";
import { type OpusPart, readOggOpus, readSoundPackets } from "./read-ogg-opus.ts";

const RATE_HZ = 48_000;
/** Length of each silent packet in samples: 20 ms. */
const SILENCE_SAMPLES = 960;
/**
 * Minimum number of silent packets between two parts. The first silent packet has the mode (SILK or CELT) in which the
 * previous part ends, so that the previous part fades out normally. The last silent packet has another mode than the
 * beginning of the next part. This change of mode resets the decoder, so that the decoder's state does not affect the
 * next part.
 */
const MIN_SILENT_PACKETS = 2;
const CELT_SILENCE = Uint8Array.of(0xf8, 0xff, 0xfe);
const SILK_SILENCE = Uint8Array.of(0x08, 0x0b, 0xe4, 0xb9, 0xa0, 0xbc, 0x84);

type MeasuredPart = JoinPart & OpusPart;

interface PlacedPart extends MeasuredPart {
  /** Number of samples that precede this part in the stream. */
  readonly offset: number;
  /** The silent packets after this part. */
  readonly silence: readonly Uint8Array[];
}

const getSilentPacket = (isCelt: boolean): Uint8Array => (isCelt ? CELT_SILENCE : SILK_SILENCE);

/** Returns the number of silent packets between a position and the time at which a part has to begin. */
const countPacketsUntil = (startSeconds: number, position: number): number =>
  Math.round((startSeconds * RATE_HZ - position) / SILENCE_SAMPLES);

function buildSilenceBefore(first: MeasuredPart): Uint8Array[] {
  const count = Math.max(0, countPacketsUntil(first.startSeconds ?? 0, 0));
  const packets = Array<Uint8Array>(count).fill(getSilentPacket(first.beginsWithCelt));
  if (count > 0) packets[count - 1] = getSilentPacket(!first.beginsWithCelt);
  return packets;
}

/**
 * Returns the silent packets after a part.
 *
 * @param position sample at which the sound of the next part would begin if no silent packet were inserted
 */
function buildSilenceAfter(
  part: MeasuredPart,
  next: MeasuredPart | undefined,
  position: number,
): Uint8Array[] {
  // The trimmed end of this part and the pre-skip of the next part count toward the pause.
  const samples = part.pauseAfterSeconds * RATE_HZ - part.trimSamples - (next?.head.preSkip ?? 0);
  const silence = getSilentPacket(part.endsWithCelt);
  if (next === undefined) {
    return Array<Uint8Array>(Math.max(0, Math.ceil(samples / SILENCE_SAMPLES))).fill(silence);
  }
  const count = Math.max(
    MIN_SILENT_PACKETS,
    Math.round(samples / SILENCE_SAMPLES),
    countPacketsUntil(next.startSeconds ?? 0, position),
  );
  return [...Array<Uint8Array>(count - 1).fill(silence), getSilentPacket(!next.beginsWithCelt)];
}

function placeParts(
  parts: readonly MeasuredPart[],
  first: MeasuredPart,
): { placedParts: PlacedPart[]; samples: number; silenceBefore: readonly Uint8Array[] } {
  const silenceBefore = buildSilenceBefore(first);
  let samples = silenceBefore.length * SILENCE_SAMPLES;
  const placedParts = parts.map((part, index): PlacedPart => {
    const next = parts[index + 1];
    const position = samples + part.samples + (next?.head.preSkip ?? 0) - first.head.preSkip;
    const placed = { ...part, offset: samples, silence: buildSilenceAfter(part, next, position) };
    samples += part.samples + placed.silence.length * SILENCE_SAMPLES;
    return placed;
  });
  return { placedParts, samples, silenceBefore };
}

const computeSpan = ({ head, samples, trimSamples, offset }: PlacedPart, filePreSkip: number): Span => ({
  startSeconds: (offset + head.preSkip - filePreSkip) / RATE_HZ,
  endSeconds: (offset + samples - trimSamples - filePreSkip) / RATE_HZ,
});

function buildJoinedHead(parts: readonly OpusPart[], { head }: OpusPart, channels: number): OpusHead {
  const rates = new Set(parts.map(({ head: { inputSampleRateHz } }) => inputSampleRateHz));
  return { ...head, channels, inputSampleRateHz: rates.size === 1 ? head.inputSampleRateHz : RATE_HZ };
}

/**
 * Copies the packets of a part.
 *
 * @param end the sample at which the stream ends; later packets are omitted
 */
async function copySound(file: PartFile, part: PlacedPart, end: number, writer: PageWriter): Promise<void> {
  let packets = 0;
  let position = part.offset;
  for await (const page of readSoundPackets(file)) {
    for (const { bytes, samples } of page.packets) {
      if (position < end) await writer.writePacket(bytes, samples);
      packets += 1;
      position += samples;
    }
  }
  // Fail if the file changed after the first pass, because the lengths from that pass are already written.
  if (packets !== part.packetCount || position !== part.offset + part.samples) {
    throw file.damagedPartError("it changed while it was read");
  }
}

/**
 * Joins Opus parts into one Ogg file without re-encoding them. The file is stereo if any part is stereo. Checks all
 * parts before it writes the first byte. Rounds the pauses between parts to packets of 20 ms, and inserts at least two
 * silent packets between two parts.
 *
 * @throws DamagedPartError if a part cannot be read as Opus in Ogg, or changes during the join
 * @throws PartsDifferError if the output gains differ, or if a mono part with stereo packets has to go into a stereo
 *   file
 * @throws the reason of the signal, and any error of `write`
 */
export async function joinOggOpus(request: JoinRequest): Promise<JoinedAudio> {
  const { signal } = request;
  const parts = await mapParts("ogg_opus", request.parts, signal, async (file, part) => ({
    ...part,
    ...(await readOggOpus(file)),
  }));
  const channels = Math.max(...parts.map(({ head }) => head.channels));
  const first = requireSameProperties(parts, ({ head, hasStereoPackets }) => ({
    "output gain": head.outputGain,
    // Refuse to join a mono part that has stereo packets into a stereo file, because the part would sound different.
    // Players mix stereo packets down to one channel in a mono file, but play both channels in a stereo file.
    "kind of packets":
      head.channels < channels && hasStereoPackets ? "stereo to be played as mono" : "as played",
  }));
  const { placedParts, samples, silenceBefore } = placeParts(parts, first);
  const head = buildJoinedHead(parts, first, channels);
  const spans = placedParts.map((part) => computeSpan(part, head.preSkip));
  const last = placedParts.at(-1);
  const silentSamples = (last?.silence.length ?? 0) * SILENCE_SAMPLES + (last?.trimSamples ?? 0);
  const end = samples - silentSamples + Math.round((last?.pauseAfterSeconds ?? 0) * RATE_HZ);
  const durationSeconds = (end - head.preSkip) / RATE_HZ;
  const chapters = computeChapterSpans(request.chapters, spans, durationSeconds);

  const output = new BufferedWriter(request.write, signal);
  const writer = new PageWriter(output, first.serial);
  await writer.writeHeader(buildHeadPacket(head));
  await writer.writeHeader(buildTagsPacket(request, chapters));
  for (const packet of silenceBefore) await writer.writePacket(packet, SILENCE_SAMPLES);
  await mapParts("ogg_opus", placedParts, signal, async (file, part) => {
    await copySound(file, part, end, writer);
    for (const packet of part.silence) await writer.writePacket(packet, SILENCE_SAMPLES);
  });
  await writer.end(end);
  await output.flush();
  return { durationSeconds, sizeBytes: output.sizeBytes, parts: spans, chapters };
}
