/** Bytes of an mp3 part that are not frames never reach the joined file, and no part damages it. */
import { expect, test } from "vitest";
import { DamagedPartError, PartsDifferError } from "../../src/audio/part-errors.ts";
import { joined } from "./join-in-memory.ts";
import { cbrFrames, type FrameOptions, frame, ID3 } from "./make-mp3.ts";
import { noise } from "./make-wav.ts";

const FRAMES = 20;
const sound = cbrFrames(FRAMES);

/** Returns the frames of a joined file except the first, which is the Info frame. */
async function joinedSound(bytes: Uint8Array): Promise<Buffer> {
  const file = await joined("mp3", [{ bytes }]);
  return file.bytes.subarray(frame({}).byteLength);
}

function ape(hasHeader: boolean): Buffer {
  const item = noise(50);
  const mark = (flags: number): Buffer => {
    const bytes = Buffer.alloc(32);
    bytes.write("APETAGEX");
    bytes.writeUInt32LE(2000, 8);
    bytes.writeUInt32LE(item.byteLength + 32, 12);
    bytes.writeUInt32LE(1, 16);
    bytes.writeUInt32LE(flags, 20);
    return bytes;
  };
  const flags = hasHeader ? 0x80000000 : 0;
  return Buffer.concat([...(hasHeader ? [mark(flags + 0x20000000)] : []), item, mark(flags)]);
}

const id3v1 = Buffer.concat([Buffer.from("TAG"), noise(125)]);
const extended = Buffer.concat([Buffer.from("TAG+"), noise(223)]);
const appended = ID3(noise(70), { footer: true });
const lyrics = Buffer.concat([
  Buffer.from("LYRICSBEGIN"),
  Buffer.from("IND0000200"),
  Buffer.from("000021LYRICS200"),
]);
/** Valid frames to put inside a tag, where a picture may contain such bytes. They must not be read as sound. */
const trap = cbrFrames(3, { bitrateIndex: 9 });

const WITH_METADATA: Record<string, Buffer> = {
  "an ID3v2 tag": Buffer.concat([ID3(noise(300)), sound]),
  "three ID3v2 tags with frames inside": Buffer.concat([ID3(trap), ID3(trap), ID3(trap), sound]),
  "an ID3v2 tag with a footer": Buffer.concat([ID3(noise(300), { footer: true }), sound]),
  "an ID3v1 tag": Buffer.concat([sound, id3v1]),
  "an extended ID3v1 tag": Buffer.concat([sound, extended, id3v1]),
  "an APE tag": Buffer.concat([sound, ape(true)]),
  "an APE tag without header": Buffer.concat([sound, ape(false)]),
  "an APE tag in front": Buffer.concat([ape(true).subarray(0, -32), Buffer.alloc(32), sound]),
  "an appended ID3v2 tag": Buffer.concat([sound, appended]),
  "lyrics, APE and ID3v1": Buffer.concat([sound, ape(true), lyrics, id3v1]),
  "rubbish in front": Buffer.concat([Buffer.from("rubbish \xff\xfb\x90"), sound]),
  "rubbish behind": Buffer.concat([sound, noise(200)]),
  "a last frame that is cut": Buffer.concat([sound, frame({}).subarray(0, 100)]),
  "a last frame that is cut in its header": Buffer.concat([sound, frame({}).subarray(0, 3)]),
  "an Info frame": Buffer.concat([frame({ tag: "Info" }), sound]),
  "an Xing frame": Buffer.concat([frame({ tag: "Xing" }), sound]),
  "an Xing frame with a checksum": Buffer.concat([frame({ tag: "Xing", hasCrc: true }), sound]),
  "a VBRI frame": Buffer.concat([frame({ tag: "VBRI" }), sound]),
};

test.each(Object.entries(WITH_METADATA))("takes only the sound from a file with %s", async (_, bytes) => {
  expect(await joinedSound(bytes)).toEqual(sound);
});

test("omits bytes between frames", async () => {
  const half = cbrFrames(FRAMES / 2);
  const bytes = Buffer.concat([half, ID3(noise(100)), half]);
  expect(await joinedSound(bytes)).toEqual(await joinedSound(Buffer.concat([half, half])));
});

test("silences frames that need missing bytes, even after a gap", async () => {
  const dependent = frame({ backBytes: 200, fill: 0x55 });
  const whole = [frame({ fill: 0x11 }), dependent, dependent];
  const silenced = frame({ fill: 0x55 });
  const zeroed = (bytes: Buffer): Buffer => Buffer.from(bytes).fill(0, 4, 13);
  // Each frame holds 179 bytes of data. A dependent frame needs 200 bytes from the frames before it. Only 179 bytes
  // come before the first dependent frame, so it is silenced. 358 bytes come before the second one.
  expect(await joinedSound(Buffer.concat(whole))).toEqual(
    Buffer.concat([frame({ fill: 0x11 }), zeroed(silenced), dependent]),
  );
  const torn = Buffer.concat([...whole, noise(50), dependent, dependent, dependent]);
  expect(await joinedSound(torn)).toEqual(
    Buffer.concat([
      frame({ fill: 0x11 }),
      zeroed(silenced),
      dependent,
      zeroed(silenced),
      zeroed(silenced),
      dependent,
    ]),
  );
});

const NO_MP3: Record<string, Buffer> = {
  "no bytes": Buffer.alloc(0),
  "one byte": Buffer.of(0xff),
  "nothing but a tag": ID3(noise(500)),
  "a tag that says to be longer than the file": Buffer.concat([
    ID3(Buffer.alloc(0)).fill(0x7f, 6, 10),
    sound,
  ]),
  "nothing but an Info frame": frame({ tag: "Info" }),
  noise: noise(100_000),
  "nothing but FF": Buffer.alloc(100_000, 0xff),
  "free format": Buffer.concat([cbrFrames(3, { bitrateIndex: 0 }), noise(100)]),
  "more rubbish than sound": Buffer.concat([noise(5000), sound]),
  "channels that change midway": Buffer.concat([sound, cbrFrames(5, { channels: 2 })]),
  "layer II": cbrFrames(5, { layerBits: 2 }),
};

test.each(Object.entries(NO_MP3))("names the part that is %s", async (_, bytes) => {
  const joining = joined("mp3", [{ bytes: sound }, { bytes }]);
  await expect(joining).rejects.toThrow(DamagedPartError);
  await expect(joining).rejects.toMatchObject({ partIndex: 1 });
});

const DIFFERENT: [string, FrameOptions][] = [
  ["channels", { channels: 2 }],
  ["sample rate", { rateBits: 0 }],
  ["MPEG version", { versionBits: 3 }],
];

test.each(DIFFERENT)("names the part with different %s", async (property, wish) => {
  const joining = joined("mp3", [{ bytes: sound }, { bytes: cbrFrames(9, wish) }, { bytes: sound }]);
  await expect(joining).rejects.toThrow(PartsDifferError);
  await expect(joining).rejects.toMatchObject({
    differences: expect.arrayContaining([expect.objectContaining({ partIndex: 1, property })]),
  });
});
