/** Speaks one sentence in a process that must then end by itself. */
import { createSpeechEngine } from "../../../src/sandbox/speech/speech.ts";
import { speechRequest } from "./speech-request.ts";

const { audioSeconds } = await createSpeechEngine().speak(speechRequest());
console.log(audioSeconds.toFixed(3));
