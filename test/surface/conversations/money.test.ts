/** Conversations about credits: too few, reserved by other tasks, and a task that fails. */
import { expect } from "vitest";
import type { FakeService } from "../../support/fake-service.ts";
import { type CountedConversation, type Era, setupWithFaults } from "./conversation-setup.ts";
import { describeConversations } from "./conversations.ts";

const TEXT = {
  prompt: "It was a bright cold day in April, and the clocks were striking thirteen. ".repeat(10),
};

function refuseSubmissions(service: FakeService, isRefused: () => boolean): void {
  service.intercept = ({ kind }, response) => {
    if (kind !== "create" || !isRefused()) return false;
    service.refuse(response, 402, "insufficient_credits", "not enough credits");
    return true;
  };
}

/** No task ends before it is queried, because otherwise the answer to a repeated submission would contain the end. */
const asked = (era: Era): Promise<CountedConversation> => setupWithFaults(era, { processingMs: 60_000 });

/** Makes the next `most` tasks fail at their first query. Later tasks succeed. */
function failTasks(service: FakeService, most: number): void {
  const failed = new Set<string>();
  service.intercept = ({ kind, taskId }) => {
    const task = service.tasks.get(taskId ?? "");
    if (kind !== "query" || task === undefined) return false;
    if (failed.has(task.id) || failed.size < most) {
      failed.add(task.id);
      task.status = "failed";
    } else {
      task.status = "succeeded";
    }
    return false;
  };
}

describeConversations("Money", [
  {
    when: "402: what is held, what this text would cost, and what does not help; after the top-up the same call",
    fewestCalls: 2,
    setup: setupWithFaults,
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      let isEmpty = true;
      refuseSubmissions(setup.service, () => isEmpty);
      const refused = await assistant.generate(TEXT);
      refused.says(
        /^insufficient_credits/,
        /Nothing was charged/,
        /at least 150 credits must be available/,
        /no setting lowers that/,
        /would then cost about 6\d of them/,
        /Credits held by running tasks come back/,
        /repeat the same call/,
      );
      isEmpty = false;
      expect((await assistant.follow(refused)).path).toMatch(/\.mp3$/);
    },
  },
  {
    when: "402 while a task runs: the second waits for its credits by itself",
    fewestCalls: 2,
    setup: (era) => setupWithFaults(era, { processingMs: 400 }),
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      refuseSubmissions(setup.service, () => setup.service.runningTaskCount > 0);
      const both = [TEXT, { prompt: "The second text" }].map((args) =>
        assistant.begin("generate_audio", args),
      );
      for (const id of both) expect((await assistant.answerTo(id)).path).toMatch(/\.mp3$/);
    },
  },
  {
    when: "a task fails once: it is retried automatically, free of charge, without a report",
    fewestCalls: 1,
    setup: asked,
    play: async (setup) => {
      failTasks(setup.service, 1);
      const assistant = await setup.startAssistant();
      (await assistant.generate(TEXT)).says(/Cost 10 credits/).hides(/fail/);
      expect(setup.service.tasks.size).toBe(2);
    },
  },
  {
    when: "a task fails twice: the failure is reported and the person is asked; the same call then tries again",
    fewestCalls: 2,
    setup: asked,
    play: async (setup) => {
      failTasks(setup.service, 2);
      const assistant = await setup.startAssistant();
      const failed = await assistant.generate(TEXT);
      failed.says(
        /^task_failed/,
        /"the voice was lost"/,
        /It cost nothing/,
        /has already tried again by itself/,
        /Tell the user, and ask: the same call makes a fresh attempt/,
      );
      (await assistant.repeat()).says(/Cost 10 credits/);
      expect(setup.service.tasks.size).toBe(3);
    },
  },
]);
