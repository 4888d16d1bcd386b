/** A short, plain request for tests to change. */
import type { SpeechRequest } from "../../../src/sandbox/speech/speech.ts";

export function speechRequest(changes: Partial<SpeechRequest> = {}): SpeechRequest {
  return {
    prompt: "Hello world, a short sentence.",
    voice: undefined,
    output_format: "pcm",
    sample_rate: 16000,
    speed: 1,
    volume: 1,
    pitch: 0,
    ...changes,
  };
}
