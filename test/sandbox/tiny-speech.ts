/** A speech engine for tests of the sandbox. It answers at once, without real speech, and obeys marks in the prompt. */
import type { OutputFormat } from "../../src/contract/audio-format.ts";
import {
  type SpeechEngine,
  type SpeechRequest,
  type SpokenAudio,
  UnspeakablePromptError,
} from "../../src/sandbox/speech/speech.ts";

const HEADS: Readonly<Record<OutputFormat, string>> = {
  mp3: "ID3\u0004\u0000\u0000",
  wav: "RIFF\u0000\u0000\u0000\u0000WAVE",
  ogg_opus: "OggS",
  pcm: "",
};

const AUDIO_BYTES = 1000;

/**
 * Obeys these marks in a prompt: `[8.2s]` (the length of the audio, otherwise 1.5 s), `[unspeakable]`, `[broken]`
 * and `[hangs]` (until the engine is closed).
 */
export class TinySpeech implements SpeechEngine {
  readonly requests: SpeechRequest[] = [];
  closed = false;
  #hanging: Array<(error: Error) => void> = [];

  async speak(request: SpeechRequest): Promise<SpokenAudio> {
    this.requests.push(request);
    const { prompt, output_format } = request;
    if (prompt.includes("[unspeakable]")) throw new UnspeakablePromptError();
    if (prompt.includes("[broken]")) throw new Error("the engine broke at /secret/path");
    if (prompt.includes("[hangs]")) await new Promise<void>((_, reject) => this.#hanging.push(reject));
    const seconds = /\[(-?[\d.]+|NaN)s\]/.exec(prompt)?.[1];
    const bytes = new Uint8Array(AUDIO_BYTES).map((_, index) => index % 251);
    bytes.set(Buffer.from(HEADS[output_format], "latin1"));
    return { bytes, audioSeconds: seconds === undefined ? 1.5 : Number(seconds) };
  }

  async close(): Promise<void> {
    this.closed = true;
    for (const reject of this.#hanging.splice(0)) reject(new Error("closed"));
  }
}
