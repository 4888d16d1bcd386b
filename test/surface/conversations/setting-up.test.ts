/** Conversations about the setup: no API key is set yet, or the user asks for a folder that only the settings can name. */
import { expect } from "vitest";
import { setupWithoutSettings, setupWithSandbox } from "./conversation-setup.ts";
import { describeConversations } from "./conversations.ts";

describeConversations("Setting up", [
  {
    when: "no key is set: the instructions say so before anything is called",
    fewestCalls: 0,
    setup: setupWithoutSettings,
    play: async (setup) => {
      const { instructions } = await setup.startAssistant();
      expect(instructions).toMatch(
        /^NOT SET UP YET: the user must set AUDIO_BASE_URL, AUDIO_API_KEY in this server's env/,
      );
    },
  },
  {
    when: "no key is set, and a call is made nevertheless: what to set, and where; voices can be listed meanwhile",
    fewestCalls: 2,
    setup: setupWithoutSettings,
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      const refused = await assistant.generate({ prompt: "Good morning" });
      expect(refused.isError).toBe(true);
      refused.says(
        /AUDIO_API_KEY is not set/,
        /Nothing was sent or charged/,
        /in the client's settings of this server/,
        /must not be pasted into the chat/,
        /list_voices works meanwhile/,
      );
      (await assistant.call("list_voices", { language: "pt" })).says(/mindy_en_es_id_pt_zh/);
    },
  },
  {
    when: "save it on my desktop: the instructions name the folder, and the setting that changes it",
    fewestCalls: 0,
    setup: setupWithSandbox,
    play: async (setup) => {
      const { instructions } = await setup.startAssistant();
      expect(instructions).toContain(
        `Files go to ${setup.testFolders.outputDir} (setting AUDIO_OUTPUT_DIR); no call can choose another folder.`,
      );
    },
  },
  {
    when: "a file name with a folder in it is refused, with the setting that names the folder",
    fewestCalls: 2,
    setup: setupWithSandbox,
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      const refused = await assistant.generate({ prompt: "Good morning", file_name: "Desktop/morning" });
      refused.says(/^invalid_file_name/, /the folder is AUDIO_OUTPUT_DIR/);
      expect((await assistant.repeat({ file_name: "morning" })).path).toMatch(/\/morning\.mp3$/);
    },
  },
]);
