/** The joined file of wav and pcm parts is exact to the sample, whatever surrounds the samples in the parts. */
import { expect, test } from "vitest";
import { DamagedPartError, PartsDifferError } from "../../src/audio/part-errors.ts";
import { describeWithFfprobe } from "../support/ffprobe.ts";
import { joined } from "./join-in-memory.ts";
import { chunk, type Fmt, fmtChunk, noise, riff, wav } from "./make-wav.ts";
import { outputOf } from "./sound.ts";

const RATE = 24000;

function samplesOf(file: Uint8Array): Buffer {
  const bytes = Buffer.from(file);
  const data = bytes.indexOf("data");
  return bytes.subarray(data + 8, data + 8 + bytes.readUInt32LE(data + 4));
}

test("joins wav to the sample, with the pauses between", async () => {
  const [one, two] = [noise(1000), noise(500)];
  const file = await joined("wav", [
    { bytes: wav(one), pauseAfterSeconds: 0.1 },
    { bytes: wav(two), pauseAfterSeconds: 0 },
  ]);
  expect(samplesOf(file.bytes)).toEqual(Buffer.concat([one, Buffer.alloc(4800), two]));
  expect(file.sizeBytes).toBe(file.bytes.byteLength);
  expect(file.durationSeconds).toBe((500 + 2400 + 250) / RATE);
  expect(file.parts).toEqual([
    { startSeconds: 0, endSeconds: 500 / RATE },
    { startSeconds: 2900 / RATE, endSeconds: 3150 / RATE },
  ]);
});

describeWithFfprobe("a wav file", () => {
  test("contains title and author for players, and can be joined with another", async () => {
    const sound = noise(1001);
    const tags = { title: "Märchen 童話 🎧", author: "Ana 李", album: "Buch", track: "3/12" };
    const file = await joined("wav", [{ bytes: wav(sound) }], tags);
    const reported = await outputOf("ffprobe", ["-v", "error", "-show_format", "-of", "json"], file.bytes);
    expect(JSON.parse(reported)).toMatchObject({
      format: {
        tags: { title: "Märchen 童話 🎧", artist: "Ana 李", album: "Buch", track: "3/12" },
        size: `${file.bytes.byteLength}`,
      },
    });
    const again = await joined("wav", [{ bytes: file.bytes }]);
    expect(samplesOf(again.bytes)).toEqual(samplesOf(file.bytes));
  });
});

const sound = noise(2001).subarray(0, 2000);
const extensible: Partial<Fmt> = { isExtensible: true };
const ODD_FILES: Record<string, Uint8Array> = {
  "a LIST of odd length before the samples": riff(fmtChunk(), chunk("LIST", noise(33)), chunk("data", sound)),
  "a LIST after the samples": riff(fmtChunk(), chunk("data", sound), chunk("LIST", noise(40))),
  "a size of FFFFFFFF": riff(fmtChunk(), chunk("data", sound, 0xffffffff)),
  "a size of 0": riff(fmtChunk(), chunk("data", sound, 0)),
  "a size beyond the end": riff(fmtChunk(), chunk("data", sound, 999_999)),
  "half a sample at the end": riff(fmtChunk(), chunk("data", noise(2001), 0)).subarray(0, -1),
  "the extensible format": riff(fmtChunk(extensible), chunk("data", sound)),
  "the size in RF64's own chunk, and a LIST behind": Buffer.concat([
    riff(
      chunk("ds64", Buffer.from(BigUint64Array.of(0n, 2000n, 1000n, 0n).buffer).subarray(0, 28)),
      fmtChunk(),
      chunk("data", sound, 0xffffffff),
      chunk("LIST", noise(40)),
    ),
  ]),
};
ODD_FILES["the size in RF64's own chunk, and a LIST behind"]?.set(Buffer.from("RF64"), 0);

test.each(Object.entries(ODD_FILES))("finds the samples in a file with %s", async (_, bytes) => {
  const file = await joined("wav", [{ bytes }, { bytes: wav(sound) }]);
  expect(samplesOf(file.bytes).equals(Buffer.concat([sound, sound]))).toBe(true);
});

const NOT_WAV: Record<string, Uint8Array> = {
  "no bytes": Buffer.alloc(0),
  "three bytes": Buffer.from("RIF"),
  "another kind of RIFF": Buffer.from("RIFF\0\0\0\0AVI LIST", "latin1"),
  "a header without samples": riff(fmtChunk()),
  "no samples in its chunk": riff(fmtChunk(), chunk("data", Buffer.alloc(0)), chunk("LIST", noise(8))),
  "samples before their format": riff(chunk("data", sound), fmtChunk()),
  "a format chunk that is cut": riff(chunk("fmt ", Buffer.alloc(6)), chunk("data", sound)),
  "a compressed encoding": riff(fmtChunk({ encoding: 0x55 }), chunk("data", sound)),
  "no channels": riff(fmtChunk({ channels: 0 }), chunk("data", sound)),
  "a rate of 0": riff(fmtChunk({ sampleRateHz: 0 }), chunk("data", sound)),
  "a block of 0 bytes": riff(fmtChunk({ blockBytes: 0 }), chunk("data", sound)),
  "five thousand empty chunks": riff(...Array<Buffer>(5000).fill(chunk("JUNK", Buffer.alloc(0)))),
};

test.each(Object.entries(NOT_WAV))("names the part that has %s", async (_, bytes) => {
  const joining = joined("wav", [{ bytes: wav(sound) }, { bytes }]);
  await expect(joining).rejects.toThrow(DamagedPartError);
  await expect(joining).rejects.toMatchObject({ partIndex: 1, message: expect.stringContaining("Part 2") });
});

test("names the parts that differ, and how", async () => {
  const joining = joined("wav", [
    { bytes: wav(sound, { channels: 2 }) },
    { bytes: wav(sound) },
    { bytes: wav(sound) },
    { bytes: wav(sound, { sampleRateHz: 8000 }) },
  ]);
  await expect(joining).rejects.toThrow(PartsDifferError);
  await expect(joining).rejects.toMatchObject({
    differences: [
      { partIndex: 0, property: "channels", value: "2", commonValue: "1" },
      { partIndex: 3, property: "sample rate", value: "8000", commonValue: "24000" },
    ],
  });
});

test("writes silence as 8-bit samples do", async () => {
  const one = noise(11);
  const file = await joined("wav", [{ bytes: wav(one, { bitsPerSample: 8 }), pauseAfterSeconds: 0.001 }]);
  expect(samplesOf(file.bytes)).toEqual(Buffer.concat([one, Buffer.alloc(24, 0x80)]));
  // A chunk with an odd length, here 35 bytes, is followed by a padding byte.
  expect(file.bytes.byteLength).toBe(44 + 35 + 1);
});

test("joins pcm to the sample, and derives its channels from its length", async () => {
  const reported = { sampleRateHz: RATE };
  const mono = noise(4800);
  const cut = Buffer.concat([mono, Buffer.of(1)]);
  const file = await joined("pcm", [
    { bytes: cut, durationSeconds: 0.1, pauseAfterSeconds: 0.5, ...reported },
    { bytes: mono, durationSeconds: 0.1004, ...reported },
  ]);
  expect(file.bytes).toEqual(Buffer.concat([mono, Buffer.alloc(24000), mono]));
  expect(file.durationSeconds).toBe(0.7);

  const stereo = await joined("pcm", [
    { bytes: mono, durationSeconds: 0.05, pauseAfterSeconds: 0.5, ...reported },
  ]);
  expect(stereo.bytes).toEqual(Buffer.concat([mono, Buffer.alloc(48000)]));
  expect(stereo.durationSeconds).toBe(0.55);
});

test("refuses pcm whose length fits no number of channels, and a mixture", async () => {
  const reported = { sampleRateHz: RATE };
  const bytes = noise(4800);
  await expect(joined("pcm", [{ bytes, durationSeconds: 1, ...reported }])).rejects.toThrow(DamagedPartError);
  await expect(joined("pcm", [{ bytes: noise(1), durationSeconds: 1, ...reported }])).rejects.toThrow(
    "no sound",
  );
  const mixed = joined("pcm", [
    { bytes, durationSeconds: 0.1, ...reported },
    { bytes, durationSeconds: 0.05, ...reported },
  ]);
  await expect(mixed).rejects.toThrow(PartsDifferError);
});
