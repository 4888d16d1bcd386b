/** Conversations about texts that are too long for one request: the price is stated before it is paid. */
import { expect } from "vitest";
import { noiseSpeech } from "../../support/noise-speech.ts";
import { setupWithSandbox } from "./conversation-setup.ts";
import { describeConversations } from "./conversations.ts";

const LONG = "It was a bright cold day in April, and the clocks were striking thirteen. "
  .repeat(30)
  .slice(0, 2100);

const BOOK = ["One", "Two", "Three", "Four"].map((title) => `# ${title}\n\nIt is ${title}.`).join("\n\n");

/** The third cue begins 0.7 s after the second, whose audio lasts 0.9 s. */
const FILM = `1
00:00:01,000 --> 00:00:02,000
The river comes back.

2
00:00:04,000 --> 00:00:05,200
And everybody in the village who is old enough to walk waits for it on the bridge, in silence.

3
00:00:04,700 --> 00:00:06,000
Listen.
`;
/** Shortens waits less than usual, so that the paying call lasts until the file exists, even on a busy machine. */
const LONG_TIMEOUT_MS = { AUDIO_TIME_SCALE: "0.1" };

describeConversations("A text that is too long for one request", [
  {
    when: "2,100 characters: the instructions name the tool, which states the price first, and the call that pays it",
    fewestCalls: 2,
    setup: (era) => setupWithSandbox(era, { speech: noiseSpeech, env: LONG_TIMEOUT_MS }),
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      expect(assistant.instructions).toMatch(
        /Texts over 2,048 characters, .*: narrate, first without max_credits/,
      );
      const plan = await assistant.call("narrate", { text: LONG });
      plan.says(/about \d+ credits/, /Nothing was sent or charged/, /Tell the user length and price/);
      (await assistant.follow(plan)).says(/Saved/, /\.mp3/, /Cost \d+ credits/);
    },
  },
  {
    when: "subtitles of a film: the wrong tool names the right one, what is late is reported with its remedy, and one part is paid again",
    fewestCalls: 4,
    setup: (era) => setupWithSandbox(era, { speech: noiseSpeech, env: LONG_TIMEOUT_MS }),
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      const wrong = await assistant.call("generate_audio", { prompt: FILM });
      expect(wrong.isError).toBe(true);
      wrong.says(/prompt holds subtitles.*narrate.*give it the same as text/, /Nothing was sent or charged/);
      const plan = await assistant.call("narrate", { text: FILM });
      plan.says(
        /3 cues in 3 parts/,
        /1 part is estimated to run into the next cue.*cue 2 \(no speed is fast enough\)/,
      );
      const madeNarration = await assistant.follow(plan);
      madeNarration
        .hides(/begins on time/)
        .says(/Cue 3 begins 0\.\d s late: .*speed 1\.\d+ would fit \(retakes, quote "cue 2"\)/);
      const speed = Number(/speed (1\.\d+) would fit/.exec(madeNarration.text)?.[1]);
      const { args } = madeNarration.nextCall;
      const retaken = await assistant.call("narrate", { ...args, retakes: [{ quote: "cue 2", speed }] });
      retaken.says(/Saved/, /Every cue begins on time, and the last one ends in time\./, /Cost 40 credits/);
      retaken.hides(/late/);
    },
  },
  {
    when: "make chapter 2 slower: one argument names the chapter, its price knows the speed, and the other chapters stay",
    fewestCalls: 2,
    setup: (era) => setupWithSandbox(era, { speech: noiseSpeech, env: LONG_TIMEOUT_MS }),
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      const made = await assistant.call("narrate", { text: BOOK, max_credits: 600, wait_seconds: 50 });
      made.says(/Cost 40 credits/);
      expect(made.text).toMatch(/, chapters inside and in .*\.chapters\.json\./);
      setup.forget();
      const narration_id = /nar_[0-9a-f]{32}/.exec(made.text)?.[0];
      const retakes = [{ chapter: 2, speed: 0.8 }];
      const plan = await assistant.call("narrate", { narration_id, retakes });
      plan.says(/1 part to be made for about 10 credits/, /with the same retakes/);
      const done = await assistant.call("narrate", { ...plan.nextCall.args, retakes, wait_seconds: 50 });
      done.says(/Cost 50 credits in all, 10 of them for this call/);
    },
  },
  {
    when: "chapters 2 to 3 of a book, please: the plan names the chapters, and the choice is priced before it is paid",
    fewestCalls: 3,
    setup: (era) => setupWithSandbox(era, { speech: noiseSpeech, env: LONG_TIMEOUT_MS }),
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      const whole = await assistant.call("narrate", { text: BOOK });
      whole.says(/One/, /Four/, /about 40 credits/).hides(/chapters, from/);
      expect(whole.text).toMatch(/The argument chapters narrates some of them: "1-2"\./);
      const plan = await assistant.call("narrate", { text: BOOK, chapters: "2-3" });
      plan.says(/Of 4 chapters: 2 "Two", 3 "Three"/, /Nothing was sent or charged/);
      plan.hides(/The argument chapters/);
      (await assistant.follow(plan)).says(/Saved/, /\.mp3/, /Cost 20 credits/);
    },
  },
]);
