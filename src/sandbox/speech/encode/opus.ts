/** Encodes Opus in Ogg (RFC 7845): header packets, audio packets, pre-skip and end trimming. */
import type { SampleRate } from "../../../contract/audio-format.ts";
import { concatBytes } from "./concat-bytes.ts";
import {
  buildOggPage,
  countSegments,
  FIRST_PAGE,
  LAST_PAGE,
  MAX_SEGMENTS,
  MIDDLE_PAGE,
  type OggPage,
} from "./ogg-pages.ts";

type OpusRate = 8000 | 16000 | 24000 | 48000;

/** Granule positions of Opus count samples at 48 kHz, whatever the input rate. */
const GRANULE_RATE_HZ = 48000;
const FRAME_SECONDS = 0.02;
const PACKETS_PER_PAGE = 50;
const MAX_PACKET_BYTES = 1500;
const BITRATE_BPS = 32000;
/** Encoder complexity, 0 to 10. Higher values double the time and do not improve synthetic speech. */
const COMPLEXITY = 5;
/** Serial number of the Ogg stream. It is fixed, so that the same request gives the same bytes. */
const SERIAL = 0x5eecb00c;

/**
 * Returns the input rate that {@link encodeOpus} needs: the requested rate, or 48,000 Hz if libopus does not support
 * the requested rate.
 */
export function chooseOpusRateHz(sampleRate: SampleRate): OpusRate {
  return sampleRate === 32000 || sampleRate === 44100 ? 48000 : sampleRate;
}

function buildIdentificationHeader(preSkip: number, inputSampleRateHz: number): Buffer {
  const packet = Buffer.alloc(19);
  packet.write("OpusHead");
  packet[8] = 1;
  packet[9] = 1;
  packet.writeUInt16LE(preSkip, 10);
  packet.writeUInt32LE(inputSampleRateHz, 12);
  return packet;
}

/** The comment header: the name of the encoder with its length, and no comments. */
const COMMENT_HEADER = Buffer.from("OpusTags\x07\0\0\0libopus\0\0\0\0", "latin1");

async function encodePackets(
  samples: Float32Array,
  rateHz: OpusRate,
): Promise<{ packets: Uint8Array[]; preSkip: number }> {
  const { Application, createEncoder } = await import("libopus-wasm");
  const frameSize = rateHz * FRAME_SECONDS;
  using encoder = await createEncoder({
    sampleRate: rateHz,
    channels: 1,
    frameSize,
    application: Application.Audio,
    bitrate: BITRATE_BPS,
    complexity: COMPLEXITY,
  });
  const lookahead = encoder.getLookahead();
  const frames = Math.ceil((samples.length + lookahead) / frameSize);
  const packets: Uint8Array[] = [];
  for (let frame = 0; frame < frames; frame++) {
    const block = new Float32Array(frameSize);
    block.set(samples.subarray(frame * frameSize, (frame + 1) * frameSize));
    packets.push(encoder.encodeFloat(block, { maxPacketBytes: MAX_PACKET_BYTES }).slice());
  }
  return { packets, preSkip: (lookahead * GRANULE_RATE_HZ) / rateHz };
}

/**
 * Encodes samples as an Opus file in Ogg.
 *
 * @param samples mono, -1 to 1, at the rate that {@link chooseOpusRateHz} returns for `sampleRate`
 * @param sampleRate the requested rate in Hz; the header states this rate, but decoders do not need it
 */
export async function encodeOpus(samples: Float32Array, sampleRate: SampleRate): Promise<Uint8Array> {
  const rateHz = chooseOpusRateHz(sampleRate);
  const { packets, preSkip } = await encodePackets(samples, rateHz);
  const packetGranules = FRAME_SECONDS * GRANULE_RATE_HZ;
  const endGranule = preSkip + (samples.length * GRANULE_RATE_HZ) / rateHz;
  const pages: Uint8Array[] = [];
  const addPage = (kind: OggPage["kind"], granulePosition: number, packets: readonly Uint8Array[]): void => {
    pages.push(buildOggPage({ kind, granulePosition, serial: SERIAL, sequence: pages.length, packets }));
  };
  addPage(FIRST_PAGE, 0, [buildIdentificationHeader(preSkip, sampleRate)]);
  addPage(MIDDLE_PAGE, 0, [COMMENT_HEADER]);
  let encodedPackets = 0;
  while (encodedPackets < packets.length) {
    const page: Uint8Array[] = [];
    let segments = 0;
    for (const packet of packets.slice(encodedPackets, encodedPackets + PACKETS_PER_PAGE)) {
      segments += countSegments(packet);
      if (segments > MAX_SEGMENTS) break;
      page.push(packet);
    }
    encodedPackets += page.length;
    // If the final granule position lies before the end of the last packet, decoders drop the rest of that packet.
    if (encodedPackets === packets.length) addPage(LAST_PAGE, endGranule, page);
    else addPage(MIDDLE_PAGE, encodedPackets * packetGranules, page);
  }
  return concatBytes(pages);
}
