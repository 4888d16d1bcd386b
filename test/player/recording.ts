/** Records what a page plays, and compares the recording with a file. */
import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Frame } from "playwright-core";

/** Sample rate of decoded sound. It is low, because comparing takes time; a sample is 0.125 ms. */
export const HERTZ = 8000;

/**
 * Runs in the page: records everything that reaches the speakers, from audio contexts and from audio elements, on one
 * clock.
 */
export function recordSound(): void {
  const context = new AudioContext();
  // All sound has one clock, and so has the recording.
  Object.assign(globalThis, { AudioContext: new Proxy(AudioContext, { construct: () => context }) });
  const output = context.createMediaStreamDestination();
  // Without a source that never ends, the stream would wait in each silence, and every gap would seem short.
  const silence = new ConstantSourceNode(context, { offset: 0 });
  silence.connect(output);
  silence.start();
  const chunks: Blob[] = [];
  const recorder = new MediaRecorder(output.stream, { mimeType: "audio/webm;codecs=pcm" });
  recorder.ondataavailable = ({ data }) => chunks.push(data);
  recorder.start(1000);
  const connect = AudioNode.prototype.connect;
  const recording = function (this: AudioNode, ...args: unknown[]): unknown {
    const [to] = args;
    if (to instanceof AudioDestinationNode && to.context === context) Reflect.apply(connect, this, [output]);
    return Reflect.apply(connect, this, args);
  };
  Object.assign(AudioNode.prototype, { connect: recording });
  type Captured = HTMLMediaElement & { captureStream(): MediaStream };
  /** The stream of the last sound of each element, because a second stream would silence the first. */
  const streams = new WeakMap<HTMLMediaElement, { readonly src: string; readonly stream: MediaStream }>();
  const capture: Captured["captureStream"] = Reflect.get(HTMLMediaElement.prototype, "captureStream");
  const captureStream = function (this: Captured): MediaStream {
    const known = streams.get(this);
    if (known?.src === this.src) return known.stream;
    const stream = capture.call(this);
    streams.set(this, { src: this.src, stream });
    new MediaStreamAudioSourceNode(context, { mediaStream: stream }).connect(output);
    return stream;
  };
  Object.assign(HTMLMediaElement.prototype, { captureStream });
  const play = HTMLMediaElement.prototype.play;
  HTMLMediaElement.prototype.play = function (this: Captured) {
    const playing = play.call(this);
    void context.resume();
    this.captureStream();
    return playing;
  };
  const takeRecording = async (): Promise<string> => {
    await new Promise((resolve) => {
      recorder.onstop = resolve;
      recorder.stop();
    });
    const reader = new FileReader();
    return await new Promise((resolve) => {
      reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ""));
      reader.readAsDataURL(new Blob(chunks));
    });
  };
  Object.assign(globalThis, { takeRecording });
}

export type Sound = Float32Array;

/** Decodes a file to one channel. */
export function decodeFile(path: string): Sound {
  const args = ["-v", "error", "-i", path, "-f", "f32le", "-ac", "1", "-ar", `${HERTZ}`, "-"];
  const { stdout, stderr, status } = spawnSync("ffmpeg", args, { maxBuffer: 1 << 30 });
  if (status !== 0) throw new Error(`${stderr}`);
  return new Float32Array(stdout.buffer.slice(stdout.byteOffset, stdout.byteOffset + stdout.byteLength));
}

/** Ends the recording of a page, and decodes it. */
export async function takeRecording(player: Frame): Promise<Sound> {
  const base64: string = await player.evaluate(() => Reflect.get(globalThis, "takeRecording")());
  const folder = await mkdtemp(join(tmpdir(), "recording-"));
  try {
    await writeFile(join(folder, "sound.webm"), Buffer.from(base64, "base64"));
    return decodeFile(join(folder, "sound.webm"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export interface Found {
  /** Where the stretch begins. */
  readonly seconds: number;
  /** How alike both are, from 0 to 1. */
  readonly likeness: number;
}

/**
 * Finds a stretch of one sound in another.
 *
 * @param atSeconds the beginning of the stretch in its sound
 * @param around where to look in the other sound, and how far on both sides, in seconds
 */
export function findStretch(
  searched: Sound,
  source: Sound,
  atSeconds: number,
  around: readonly [seconds: number, range: number],
  lengthSeconds = 0.8,
): Found {
  const from = Math.round(atSeconds * HERTZ);
  const wanted = source.subarray(from, from + Math.round(lengthSeconds * HERTZ));
  /** Compares every sample, or only some, which is quicker. */
  const search = (first: number, last: number, stride: number): Found => {
    let best = { seconds: Number.NaN, likeness: -1 };
    for (let at = Math.max(0, first); at <= last && at + wanted.length <= searched.length; at += 1) {
      let [product, power, norm] = [0, 0, 0];
      for (let index = 0; index < wanted.length; index += stride) {
        const [sample, wantedSample] = [searched[at + index] ?? 0, wanted[index] ?? 0];
        product += sample * wantedSample;
        power += sample * sample;
        norm += wantedSample * wantedSample;
      }
      const likeness = power === 0 || norm === 0 ? 0 : product / Math.sqrt(power * norm);
      if (likeness > best.likeness) best = { seconds: at / HERTZ, likeness };
    }
    return best;
  };
  const [middle, range] = [Math.round(around[0] * HERTZ), Math.round(around[1] * HERTZ)];
  const rough = Math.round(search(middle - range, middle + range, 10).seconds * HERTZ);
  return search(rough, rough, 1);
}

/** A time in a recording, in seconds. */
interface SoundSpan {
  readonly from: number;
  readonly to: number;
}

/** Lists the sounds of a recording that are at least so many seconds apart. */
export function listSounds(recording: Sound, apartSeconds: number): SoundSpan[] {
  const sounds: Array<{ from: number; to: number }> = [];
  for (const [index, sample] of recording.entries()) {
    if (Math.abs(sample) < 1e-3) continue;
    const at = index / HERTZ;
    const last = sounds.at(-1);
    if (last === undefined || at - last.to > apartSeconds) sounds.push({ from: at, to: at });
    else last.to = at;
  }
  return sounds;
}

/** Measures the silences between the sounds of a recording, in seconds. */
export function measureSilences(recording: Sound, leastSeconds: number): number[] {
  const sounds = listSounds(recording, leastSeconds);
  return sounds.slice(1).map(({ from }, index) => from - (sounds[index]?.to ?? from));
}
