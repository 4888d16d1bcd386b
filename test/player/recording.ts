/** Records what a page plays, and compares the recording with a file. */
import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Frame } from "playwright-core";

/** Sample rate of decoded sound. It is low, because comparing takes time; a sample is 0.125 ms. */
const HERTZ = 8000;

/** Runs in the page: records everything that reaches the speakers through an audio context, without loss. */
export function recordSound(): void {
  const chunks: Blob[] = [];
  const recorders: MediaRecorder[] = [];
  const outputs = new WeakMap<BaseAudioContext, MediaStreamAudioDestinationNode>();
  const connect = AudioNode.prototype.connect;
  const recording = function (this: AudioNode, ...args: unknown[]): unknown {
    const [to] = args;
    if (to instanceof AudioDestinationNode && to.context instanceof AudioContext) {
      let output = outputs.get(to.context);
      if (output === undefined) {
        output = to.context.createMediaStreamDestination();
        outputs.set(to.context, output);
        const recorder = new MediaRecorder(output.stream, { mimeType: "audio/webm;codecs=pcm" });
        recorder.ondataavailable = ({ data }) => chunks.push(data);
        recorder.start(1000);
        recorders.push(recorder);
      }
      Reflect.apply(connect, this, [output]);
    }
    return Reflect.apply(connect, this, args);
  };
  Object.assign(AudioNode.prototype, { connect: recording });
  const takeRecording = async (): Promise<string> => {
    await Promise.all(
      recorders.map(
        (recorder) =>
          new Promise((resolve) => {
            recorder.onstop = resolve;
            recorder.stop();
          }),
      ),
    );
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

/**
 * Finds where a stretch of a file is in a recording.
 *
 * @param atSeconds the beginning of the stretch in the file
 * @param around where to look in the recording, and how far on both sides, in seconds
 * @returns the time in the recording, and how alike both are, from 0 to 1
 */
export function findInRecording(
  recording: Sound,
  file: Sound,
  atSeconds: number,
  around: readonly [seconds: number, range: number],
  lengthSeconds = 0.8,
): { readonly seconds: number; readonly likeness: number } {
  const from = Math.round(atSeconds * HERTZ);
  const wanted = file.subarray(from, from + Math.round(lengthSeconds * HERTZ));
  const [middle, range] = [Math.round(around[0] * HERTZ), Math.round(around[1] * HERTZ)];
  let best = { seconds: Number.NaN, likeness: -1 };
  const norm = Math.sqrt(wanted.reduce((sum, sample) => sum + sample * sample, 0));
  for (let at = Math.max(0, middle - range); at <= middle + range; at += 1) {
    if (at + wanted.length > recording.length) break;
    let [product, power] = [0, 0];
    for (let index = 0; index < wanted.length; index += 1) {
      const sample = recording[at + index] ?? 0;
      product += sample * (wanted[index] ?? 0);
      power += sample * sample;
    }
    const likeness = power === 0 || norm === 0 ? 0 : product / Math.sqrt(power) / norm;
    if (likeness > best.likeness) best = { seconds: at / HERTZ, likeness };
  }
  return best;
}
