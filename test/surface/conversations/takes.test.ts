/**
 * Conversations about another take: it must be requested explicitly, it is paid for, and its answer says if its audio
 * is identical to that of an earlier take.
 */
import { expect } from "vitest";
import { setupWithFaults, setupWithSandbox } from "./conversation-setup.ts";
import { describeConversations } from "./conversations.ts";

const BRIDGE = { prompt: "Over the bridge, and a little further.", file_name: "bridge" };

describeConversations("Takes", [
  {
    when: "once more, please, with more life: another take, beside the first, and its price",
    fewestCalls: 1,
    setup: setupWithSandbox,
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      await assistant.generate(BRIDGE);
      setup.forget();
      const second = await assistant.repeat({ take: 2 });
      second.says(/take:? 2/, /Cost 10 credits/).hides(/identical/);
      expect(second.path).toMatch(/\/bridge-2\.mp3$/);
      expect(await setup.testFolders.outputNames()).toEqual(["bridge-2.mp3", "bridge.mp3"]);
    },
  },
  {
    when: "two takes are the same bytes: this is reported at once, so that nobody pays for a third",
    fewestCalls: 1,
    setup: setupWithFaults,
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      await assistant.generate(BRIDGE);
      setup.forget();
      const second = await assistant.repeat({ take: 2 });
      second.says(/identical to take 1, byte for byte/, /cost credits again/);
    },
  },
]);
