/** Conversations with a client that gives up before its server does: with a cancellation, or without notice. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { type Assistant, type CountedConversation, type Era, setupWithFaults } from "./conversation-setup.ts";
import { describeConversations } from "./conversations.ts";

const TEXT = { prompt: "Longer than the client waits" };

/** If a call has been open for this time when it is repeated, the server assumes that its client gave up on it. */
const SILENCE_MS = 2100;

/** Creates a setup whose tasks run until the conversation lets them end. */
const lasting = (era: Era): Promise<CountedConversation> => setupWithFaults(era, { processingMs: 600_000 });

/**
 * Repeats a call, and expects an answer while the task runs. How soon the answer comes is measured in
 * test/e2e/asked-again.test.ts.
 */
async function repeats(setup: CountedConversation, first: Assistant): Promise<void> {
  const handle = await first.repeat();
  handle.says(/150 credits are reserved/, /The server saves the file by itself/);
  setup.service.processingMs = 0;
  expect((await first.follow(handle)).path).toContain(setup.testFolders.outputDir);
}

describeConversations(
  "Time-outs of the client",
  [
    {
      when: "the client cancels: the repeat has a handle within 2 s, and the call that it names has the file",
      fewestCalls: 3,
      returnsEarly: true,
      setup: lasting,
      play: async (setup) => {
        const assistant = await setup.startAssistant();
        expect(assistant.instructions).toMatch(
          /After a time-out or a cancelled call, send the very same arguments again .*or ask list_tasks/,
        );
        const id = assistant.begin("generate_audio", TEXT);
        await expect.poll(() => setup.service.tasks.size, { timeout: 60_000 }).toBe(1);
        assistant.cancel(id);
        await repeats(setup, assistant);
        expect(setup.service.count("create")).toBe(1);
      },
    },
    {
      when: "the client gives up without a cancellation: the repeat is answered within 2 s nevertheless",
      fewestCalls: 3,
      returnsEarly: true,
      setup: lasting,
      play: async (setup) => {
        const assistant = await setup.startAssistant();
        assistant.begin("generate_audio", TEXT);
        await expect.poll(() => setup.service.tasks.size, { timeout: 60_000 }).toBe(1);
        await sleep(SILENCE_MS);
        await repeats(setup, assistant);
        expect(setup.service.count("create")).toBe(1);
      },
    },
    {
      when: "the repeat is given up, too: the list answers at once, and names the call that waits",
      fewestCalls: 4,
      setup: lasting,
      play: async (setup) => {
        const assistant = await setup.startAssistant();
        for (let tries = 1; tries <= 2; tries += 1) {
          const id = assistant.begin("generate_audio", TEXT);
          await expect.poll(() => setup.service.tasks.size, { timeout: 60_000 }).toBe(1);
          assistant.cancel(id);
        }
        // The first query shows that the answer to the submission is recorded.
        await expect.poll(() => setup.service.count("query"), { timeout: 60_000 }).toBeGreaterThan(0);
        const listed = await assistant.call("list_tasks");
        setup.service.processingMs = 0;
        expect((await assistant.follow(listed)).path).toContain(setup.testFolders.outputDir);
        expect(setup.service.count("create")).toBe(1);
      },
    },
  ],
  { atOnce: true },
);
