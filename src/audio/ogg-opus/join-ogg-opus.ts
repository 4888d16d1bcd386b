/** Joins Opus parts packet by packet into one stream. */

import { BufferedWriter } from "../buffered-writer.ts";
import { computeChapterSpans, type JoinedAudio, type JoinRequest, type Span } from "../join-request.ts";
import { assertSameProperties } from "../part-errors.ts";
import { type PartFile, PartFiles } from "../part-file.ts";
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

interface PlacedPart {
  readonly part: OpusPart;
  /** Number of samples that precede this part in the stream. */
  readonly offset: number;
  readonly silence: readonly Uint8Array[];
}

const getSilentPacket = (isCelt: boolean): Uint8Array => (isCelt ? CELT_SILENCE : SILK_SILENCE);

/** Returns the number of silent packets between a position and the time at which a part has to begin. */
const countPacketsUntil = (startSeconds: number, position: number): number =>
  Math.round((startSeconds * RATE_HZ - position) / SILENCE_SAMPLES);

function buildSilenceBefore(first: OpusPart, startSeconds: number): Uint8Array[] {
  const packets = Array<Uint8Array>(Math.max(0, countPacketsUntil(startSeconds, 0)));
  packets.fill(getSilentPacket(first.beginsWithCelt));
  if (packets.length > 0) packets[packets.length - 1] = getSilentPacket(!first.beginsWithCelt);
  return packets;
}

/**
 * Returns the silent packets after a part.
 *
 * @param startSeconds time at which the next part has to begin
 * @param position sample at which the sound of the next part would begin if no silent packet were inserted
 */
function buildSilenceAfter(
  part: OpusPart,
  next: OpusPart | undefined,
  pauseSeconds: number,
  startSeconds: number,
  position: number,
): Uint8Array[] {
  // The trimmed end of this part and the pre-skip of the next part count toward the pause.
  const samples = pauseSeconds * RATE_HZ - part.trimSamples - (next?.head.preSkip ?? 0);
  const count =
    next === undefined
      ? Math.ceil(samples / SILENCE_SAMPLES)
      : Math.max(Math.round(samples / SILENCE_SAMPLES), countPacketsUntil(startSeconds, position));
  const packets = Array<Uint8Array>(Math.max(next === undefined ? 0 : MIN_SILENT_PACKETS, count));
  packets.fill(getSilentPacket(part.endsWithCelt));
  if (next !== undefined) packets[packets.length - 1] = getSilentPacket(!next.beginsWithCelt);
  return packets;
}

function placeParts(
  parts: readonly OpusPart[],
  request: JoinRequest,
): { placedParts: PlacedPart[]; samples: number; before: readonly Uint8Array[] } {
  const [first] = parts;
  const silenceBefore =
    first === undefined ? [] : buildSilenceBefore(first, request.parts[0]?.startSeconds ?? 0);
  let samples = silenceBefore.length * SILENCE_SAMPLES;
  const placedParts = parts.map((part, index): PlacedPart => {
    const next = parts[index + 1];
    const position = samples + part.samples + (next?.head.preSkip ?? 0) - (first?.head.preSkip ?? 0);
    const pauseSeconds = request.parts[index]?.pauseAfterSeconds ?? 0;
    const startSeconds = request.parts[index + 1]?.startSeconds ?? 0;
    const silence = buildSilenceAfter(part, next, pauseSeconds, startSeconds, position);
    const placed = { part, offset: samples, silence };
    samples += part.samples + silence.length * SILENCE_SAMPLES;
    return placed;
  });
  return { placedParts, samples, before: silenceBefore };
}

const computeSpan = ({ part, offset }: PlacedPart, filePreSkip: number): Span => ({
  startSeconds: (offset + part.head.preSkip - filePreSkip) / RATE_HZ,
  endSeconds: (offset + part.samples - part.trimSamples - filePreSkip) / RATE_HZ,
});

function assertJoinable(parts: readonly OpusPart[]): void {
  const channels = Math.max(...parts.map(({ head }) => head.channels));
  assertSameProperties(
    parts.map(({ head, hasStereoPackets }) => ({
      "output gain": head.outputGain,
      // Refuse to join a mono part that has stereo packets into a stereo file, because the part would sound different.
      // Players mix stereo packets down to one channel in a mono file, but play both channels in a stereo file.
      "kind of packets":
        head.channels < channels && hasStereoPackets ? "stereo to be played as mono" : "as played",
    })),
  );
}

function buildJoinedHead(parts: readonly OpusPart[], first: OpusPart): OpusHead {
  const rates = new Set(parts.map(({ head }) => head.inputSampleRateHz));
  return {
    channels: Math.max(...parts.map(({ head }) => head.channels)),
    preSkip: first.head.preSkip,
    inputSampleRateHz: rates.size === 1 ? first.head.inputSampleRateHz : RATE_HZ,
    outputGain: first.head.outputGain,
  };
}

/**
 * Copies the packets of a part.
 *
 * @param end the sample at which the stream ends; later packets are omitted
 */
async function copySound(file: PartFile, placed: PlacedPart, end: number, writer: PageWriter): Promise<void> {
  let packets = 0;
  let position = placed.offset;
  for await (const page of readSoundPackets(file)) {
    for (const { bytes, samples } of page.packets) {
      if (position < end) await writer.writePacket(bytes, samples);
      packets += 1;
      position += samples;
    }
  }
  // Fail if the file changed after the first pass, because the lengths from that pass are already written.
  if (packets !== placed.part.packetCount || position !== placed.offset + placed.part.samples) {
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
  const files = new PartFiles(
    "ogg_opus",
    request.parts.map(({ path }) => path),
    request.signal,
  );
  const parts = await files.mapParts(readOggOpus);
  assertJoinable(parts);
  const [first] = parts;
  const last = parts.at(-1);
  if (first === undefined || last === undefined) throw new RangeError("there is no part to join");
  const { placedParts, samples, before } = placeParts(parts, request);
  const head = buildJoinedHead(parts, first);
  const spans = placedParts.map((placed) => computeSpan(placed, head.preSkip));
  const lastPauseSamples = Math.round((request.parts.at(-1)?.pauseAfterSeconds ?? 0) * RATE_HZ);
  const soundEnd = samples - (placedParts.at(-1)?.silence.length ?? 0) * SILENCE_SAMPLES - last.trimSamples;
  const end = soundEnd + lastPauseSamples;
  const durationSeconds = (end - head.preSkip) / RATE_HZ;
  const chapters = computeChapterSpans(request.chapters, spans, durationSeconds);

  const output = new BufferedWriter(request.write, request.signal);
  const writer = new PageWriter(output, first.serial);
  await writer.writeHeader(buildHeadPacket(head));
  await writer.writeHeader(buildTagsPacket(request, chapters));
  for (const packet of before) await writer.writePacket(packet, SILENCE_SAMPLES);
  await files.mapParts(async (file, index) => {
    const placed = placedParts[index];
    if (placed === undefined) throw file.damagedPartError("it was not measured before");
    await copySound(file, placed, end, writer);
    for (const packet of placed.silence) await writer.writePacket(packet, SILENCE_SAMPLES);
  });
  await writer.end(end);
  await output.flush();
  return { durationSeconds, sizeBytes: output.sizeBytes, parts: spans, chapters };
}
