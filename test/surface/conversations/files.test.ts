/** Conversations about files: a name in use, a name that is needed again, an edited file, a lost one. */
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { setupWithSandbox } from "./conversation-setup.ts";
import { describeConversations } from "./conversations.ts";

const BRIDGE = { prompt: "Over the bridge", file_name: "bridge" };
const OTHER = { prompt: "Under the bridge", file_name: "bridge" };

describeConversations("Files", [
  {
    when: "a file name that another request has: a number is added, and the owner is named",
    fewestCalls: 1,
    setup: setupWithSandbox,
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      await assistant.generate(BRIDGE);
      setup.forget();
      const saved = await assistant.generate(OTHER);
      saved.says(/bridge-2\.mp3/, /of the text "Over the bridge", so a number was added/, /replace true/);
    },
  },
  {
    when: "save it as bridge again: one call removes the old file once the new one is saved, and both answers say whose file it is",
    fewestCalls: 2,
    setup: setupWithSandbox,
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      await assistant.generate(BRIDGE);
      setup.forget();
      const replaced = await assistant.generate({ ...OTHER, replace: true });
      expect(replaced.path).toBe(join(setup.testFolders.outputDir, "bridge.mp3"));
      expect(await setup.testFolders.outputNames()).toEqual(["bridge.mp3"]);
      replaced.says(
        /took the place of the audio of task \S+, take 1, of the text "Over the bridge"; download_audio/,
      );
      const listed = await assistant.call("list_tasks", {});
      listed.says(/file replaced by that of \S+|replaced_by: \S+/).hides(/gone/, /missing_path/);
    },
  },
  {
    when: "save it as bridge again, which the person has edited since: it stays, and this is reported",
    fewestCalls: 1,
    setup: setupWithSandbox,
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      const { path } = await assistant.generate(BRIDGE);
      await writeFile(path, "edited");
      setup.forget();
      const saved = await assistant.generate({ ...OTHER, replace: true });
      saved.says(
        /bridge-2\.mp3/,
        /changed since it was saved, so a number was added/,
        /of none that was edited/,
      );
    },
  },
  {
    when: "I cannot find the file any more: the list says that it is gone, and which call fetches it free of charge",
    fewestCalls: 2,
    setup: setupWithSandbox,
    play: async (setup) => {
      const earlier = await setup.startAssistant();
      const { path } = await earlier.generate(BRIDGE);
      await rm(path);
      setup.forget();
      const assistant = await setup.startAssistant();
      const listed = await assistant.call("list_tasks", { query: "bridge" });
      listed.says(
        /Over the bridge/,
        /gone: .*bridge\.mp3|missing_path: .*bridge\.mp3/,
        /download_audio.*\(free\)/,
      );
      expect((await assistant.follow(listed)).says(/Nothing new was charged/).path).toBe(path);
    },
  },
]);
