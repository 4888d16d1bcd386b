/** Conversations about repeats: what is the same task, what is a new one, and how to find a lost one. */
import { expect } from "vitest";
import { setupWithFaults, setupWithSandbox } from "./conversation-setup.ts";
import { describeConversations } from "./conversations.ts";

const TEXT = { prompt: "The harbour at dawn" };

describeConversations("Asking again", [
  {
    when: "what may change free of charge: the wait and the file name make no new task",
    fewestCalls: 2,
    setup: setupWithSandbox,
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      const first = await assistant.generate(TEXT);
      const again = await assistant.repeat({ wait_seconds: 50, file_name: "harbour" });
      expect(again.says(/Nothing new was charged/, /replayed: true|Nothing new/).path).toMatch(
        /\/harbour\.mp3$/,
      );
      first.says(/Cost 10 credits \(140 of 150 returned\)/);
    },
  },
  {
    when: "where is what I had made yesterday? One look at the list, with the path and what it cost",
    fewestCalls: 1,
    setup: setupWithSandbox,
    play: async (setup) => {
      const earlier = await setup.startAssistant({}, true);
      const { path } = await earlier.generate(TEXT);
      await earlier.kill();
      setup.forget();
      const assistant = await setup.startAssistant();
      const listed = await assistant.call("list_tasks", { query: "harbour" });
      listed.says(
        /succeeded/,
        /10 credits|credits: 10/,
        /\d{4}-\d\d-\d\d/,
        /None; it is saved|"The harbour at dawn"/,
      );
      listed.says(path);
    },
  },
]);

describeConversations("Asking again, where it counts", [
  {
    when: "how far is it? The first answer that names the price tells it as new, whichever call it is; the next one does not",
    fewestCalls: 3,
    returnsEarly: true,
    setup: (era) => setupWithFaults(era, { processingMs: 600_000 }),
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      const begun = await assistant.generate({ ...TEXT, wait_seconds: 0 });
      setup.service.processingMs = 0;
      const saved = await assistant.follow(begun);
      saved.says(/Cost 10 credits \(140 of 150 returned\)/).hides(/Nothing new/);
      (await assistant.repeat()).says(/Nothing new was charged; it had cost 10 credits/).hides(/Cost 10/);
    },
  },
  {
    when: "the client gave up, and the file was saved meanwhile: its price is told as new by the repeat",
    fewestCalls: 2,
    returnsEarly: true,
    setup: (era) => setupWithFaults(era, { processingMs: 200 }),
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      await assistant.generate({ ...TEXT, wait_seconds: 0 });
      await expect.poll(() => setup.testFolders.outputNames(), { timeout: 20_000 }).toHaveLength(1);
      (await assistant.repeat()).says(/Cost 10 credits \(140 of 150 returned\)/).hides(/Nothing new/);
    },
  },
  {
    when: "an edit: another text is another task, and paid for",
    fewestCalls: 2,
    setup: setupWithFaults,
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      await assistant.generate(TEXT);
      const edited = await assistant.generate({ prompt: "The harbour at dusk" });
      edited.says(/Cost 10 credits/).hides(/Nothing new/);
      expect(setup.service.tasks.size).toBe(2);
    },
  },
  {
    when: "the id of a running task is lost with its window: the list names the call that waits",
    fewestCalls: 2,
    setup: (era) => setupWithFaults(era, { processingMs: 600_000 }),
    play: async (setup) => {
      const earlier = await setup.startAssistant({}, true);
      // As an MCP task, the call would wait for the end of its task.
      const lost = earlier.generate({ ...TEXT, wait_seconds: 0 }).catch(() => undefined);
      const look = async () => JSON.stringify(await earlier.call("list_tasks"));
      await expect.poll(look).toMatch(/queued|processing/);
      await earlier.kill();
      await lost;
      setup.forget();
      const assistant = await setup.startAssistant();
      const listed = await assistant.call("list_tasks");
      listed.says(/queued|processing/, /150 credits|credits: 150/);
      setup.service.processingMs = 0;
      expect((await assistant.follow(listed)).path).toMatch(/The-harbour-at-dawn/);
      expect(setup.service.count("create")).toBe(1);
    },
  },
  {
    when: "no request exists yet: the list says so, and is not an error",
    fewestCalls: 1,
    setup: setupWithFaults,
    play: async (setup) => {
      const seen = await (await setup.startAssistant()).call("list_tasks");
      expect(seen.says(/No requests recorded yet/).isError).toBe(false);
    },
  },
]);
