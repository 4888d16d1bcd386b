/** Conversations about voices: an unknown one, one without a description, one that was omitted. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setupWithSandbox } from "./conversation-setup.ts";
import { describeConversations } from "./conversations.ts";

describeConversations("Voices", [
  {
    when: "use Sofia: there is none, and the refusal names the nearest",
    fewestCalls: 2,
    setup: setupWithSandbox,
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      const refused = await assistant.generate({ prompt: "Good morning", voice: "sofia" });
      refused.says(
        /^invalid_request: voice must be the id or the name of a voice; nearest: sophie_en_zh \(got "sofia"\)\./,
        /Nothing was sent or charged/,
      );
      (await assistant.repeat({ voice: "sophie_en_zh" })).says(/voice: sophie_en_zh/);
    },
  },
  {
    when: "a warm voice, please: the answer says at once that no such property is published",
    fewestCalls: 2,
    setup: setupWithSandbox,
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      const voices = await assistant.call("list_voices", { language: "en" });
      voices.says(/No tone, gender or age is published/, /nadia_en_zh/);
      (await assistant.generate({ prompt: "Good morning", voice: "nadia_en_zh" })).says(/voice: nadia_en_zh/);
    },
  },
  {
    when: "a warm voice, please: the person's own notes are found by their words",
    fewestCalls: 1,
    setup: setupWithSandbox,
    play: async (setup) => {
      const notes = join(setup.testFolders.root, "voices.json");
      await writeFile(notes, JSON.stringify({ mabel_en_zh: "warm, slow, like a grandmother" }));
      const assistant = await setup.startAssistant({ AUDIO_VOICE_NOTES: notes });
      const voices = await assistant.call("list_voices", { query: "warm" });
      voices.says(/mabel_en_zh/, /like a grandmother/).hides(/sophie_en_zh/);
    },
  },
  {
    when: "a voice that speaks Finnish, please: there is none, and the next step is to say so",
    fewestCalls: 1,
    setup: setupWithSandbox,
    play: async (setup) => {
      const voices = await (await setup.startAssistant()).call("list_voices", { language: "Finnish" });
      voices
        .says(/no voice speaks another language \(got "Finnish"\)/, /What to do: Tell the user/)
        .hides(/call again/);
    },
  },
  {
    when: "a calm voice, please, and there are no notes: the call that helps is named",
    fewestCalls: 2,
    setup: setupWithSandbox,
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      const none = await assistant.call("list_voices", { query: "calm" });
      none.says(/No voice 'calm'/, /Ask which language, and call list_voices with it alone/);
      none.hides(/without arguments/);
      (await assistant.call("list_voices", { language: "ja" })).says(/vivi_mixed_en_zh_ja_es_id/);
    },
  },
  {
    when: "whose voice was that? Every result says it, even if none was requested",
    fewestCalls: 1,
    setup: setupWithSandbox,
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      (await assistant.generate({ prompt: "Good morning" })).says(/voice: the service's default/);
    },
  },
]);
