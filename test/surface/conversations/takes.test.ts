/**
 * Conversations about another take: it must be requested explicitly, it is paid for, and its answer says if its audio
 * is identical to that of an earlier take.
 */
import { expect } from "vitest";
import { buildText, PART_BYTES } from "../../narration/narrator.ts";
import { setupWithFaults, setupWithSandbox } from "./conversation-setup.ts";
import { describeConversations } from "./conversations.ts";

const BRIDGE = { prompt: "Over the bridge, and a little further.", file_name: "bridge" };

const SOUNDING = { audioBytes: PART_BYTES, audioSeconds: 4, hasDistinctSounds: true } as const;
const RAW = { output_format: "pcm" };
const ARTICLE = { ...RAW, text: buildText("One", "Two").replaceAll("the old mill", "the miller's") };

describeConversations("Nearly the same", [
  {
    when: "the text is typed again with other quotation marks and blanks: the audio that there is, free, and how to have another",
    fewestCalls: 1,
    setup: (era) => setupWithFaults(era, SOUNDING),
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      const first = await assistant.generate({ ...RAW, prompt: "It's the harbour, at dawn." });
      setup.forget();
      const again = await assistant.generate({ ...RAW, prompt: "It\u2019s  the harbour, at dawn." });
      again.says(
        /differs only in quotation marks, blanks or Unicode form/,
        /with take 2, which is paid for/,
        /Nothing new was charged/,
      );
      expect(again.path).toBe(first.path);
      expect(setup.service.tasks.size).toBe(1);
    },
  },
  {
    when: "a long text is typed again with other quotation marks: the plan and the earlier narration_id, before anything is paid",
    fewestCalls: 1,
    setup: (era) => setupWithFaults(era, SOUNDING),
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      const { text } = await assistant.call("narrate", { ...ARTICLE, max_credits: 900, wait_seconds: 40 });
      const id = /nar_[0-9a-f]{32}/.exec(text)?.[0] ?? "";
      setup.forget();
      const retyped = ARTICLE.text.replaceAll("'", "\u2019");
      const told = await assistant.call("narrate", { ...RAW, text: retyped, max_credits: 900 });
      told.says(/2 parts are paid for already/, id, /would be made and paid for again/);
      expect(setup.service.tasks.size).toBe(2);
    },
  },
  {
    when: "say Nguyen as Win, after it was made without: another text, paid for, and another file",
    fewestCalls: 1,
    setup: (era) => setupWithFaults(era, SOUNDING),
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      const first = await assistant.generate({ ...RAW, prompt: "Ask Nguyen." });
      setup.forget();
      const respelled = await assistant.repeat({ pronounce: ["Nguyen=Win"] });
      respelled.says(/Respelled: Nguyen/, /Cost 10 credits/).hides(/Nothing new/);
      expect(respelled.path).not.toBe(first.path);
    },
  },
  {
    when: "make its second part again, and keep the file's name: the retake takes the place of the file",
    fewestCalls: 1,
    setup: (era) => setupWithFaults(era, SOUNDING),
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      const call = { ...ARTICLE, file_name: "tale", max_credits: 900, wait_seconds: 40 };
      const { text } = await assistant.call("narrate", call);
      const narration_id = /nar_[0-9a-f]{32}/.exec(text)?.[0];
      setup.forget();
      const retakes = [{ quote: "So ends Two" }];
      const limit = { narration_id, max_credits: 900, wait_seconds: 40 };
      const retaken = await assistant.call("narrate", { ...limit, retakes, replace: true });
      retaken.says(/\/tale\.pcm/, /30 credits in all, 10 of them for this call/).hides(/did not save/);
      expect(await setup.testFolders.outputNames()).not.toContain("tale-2.pcm");
    },
  },
]);

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
