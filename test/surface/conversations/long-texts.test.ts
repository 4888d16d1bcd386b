/** The conversation about a text that no single request takes: its price is told before it is paid. */
import { expect } from "vitest";
import { encode } from "../../../src/sandbox/speech/encode/encode.ts";
import type { SpeechEngine } from "../../../src/sandbox/speech/speech.ts";
import { hold } from "./conversations.ts";
import { stageWithSandbox } from "./stage.ts";

/** A tone instead of minutes of speech, as long as the text asks for: real files, and nothing to wait for. */
const hummed: SpeechEngine = {
  speak: ({ prompt, outputFormat, sampleRate }) => {
    const samples = Float32Array.from(
      { length: Math.round(prompt.length * 0.01 * sampleRate) },
      (_, index) => 0.3 * Math.sin((2 * Math.PI * 220 * index) / sampleRate),
    );
    return Promise.resolve(encode(samples, outputFormat, sampleRate));
  },
  close: () => Promise.resolve(),
};

const LONG = "It was a bright cold day in April, and the clocks were striking thirteen. "
  .repeat(30)
  .slice(0, 2100);

/** The call that pays lasts until the file is there, also on a busy machine. */
const UNHURRIED = { AUDIO_TIME_SCALE: "0.1" };

hold("A text that is too long for one request", [
  {
    when: "2,100 characters: the instructions name the tool, which says the price first, and the call that pays it",
    fewestCalls: 2,
    stage: (era) => stageWithSandbox(era, { speech: hummed, env: UNHURRIED }),
    play: async (stage) => {
      const assistant = await stage.enter();
      expect(assistant.instructions).toMatch(
        /Texts over 2,048 characters, .*: narrate, first without max_credits/,
      );
      const plan = await assistant.call("narrate", { text: LONG });
      plan.says(/about \d+ credits/, /Nothing was sent or charged/, /Tell the user length and price/);
      (await assistant.follow(plan)).says(/Saved/, /\.mp3/, /Cost \d+ credits/);
    },
  },
]);
