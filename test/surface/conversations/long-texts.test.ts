/** The conversation about a text that no single request takes: its price is told before it is paid. */
import { expect } from "vitest";
import { hummed } from "../../support/hummed.ts";
import { hold } from "./conversations.ts";
import { stageWithSandbox } from "./stage.ts";

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
