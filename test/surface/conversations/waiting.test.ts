/** Conversations in which the service makes users wait: a pause, a restart before acceptance, many texts at once. */
import { expect } from "vitest";
import { holdSubmissions } from "../../support/held-submissions.ts";
import { type CountedConversation, type Era, setupWithFaults } from "./conversation-setup.ts";
import { describeConversations } from "./conversations.ts";

const TEXT = { prompt: "Put off for a while" };
/**
 * Creates a setup in which the minute that a 429 asks for lasts 6 s. Even on a busy machine, the first 429 arrives
 * before a `PATIENT` call ends.
 */
const patient = (era: Era): Promise<CountedConversation> =>
  setupWithFaults(era, { env: { AUDIO_TIME_SCALE: "0.1" } });
const SHORT = { wait_seconds: 1 };
const PATIENT = { wait_seconds: 4 };

/** Loads the code of the first call in advance, so that loading does not use up short windows. */
async function warm(assistant: { call(name: string): Promise<unknown> }): Promise<void> {
  await assistant.call("list_tasks");
}

describeConversations(
  "Waiting",
  [
    {
      when: "429: how long, that the server continues by itself, and the call that waits for the file",
      fewestCalls: 2,
      returnsEarly: true,
      setup: patient,
      play: async (setup) => {
        const release = holdSubmissions(setup.service);
        const assistant = await setup.startAssistant();
        await warm(assistant);
        setup.forget();
        const waiting = await assistant.generate({ ...TEXT, ...PATIENT });
        waiting.says(
          /Not accepted by the service yet/,
          /about \d+ s to go/,
          /The server goes on by itself and saves the file/,
          /Nothing is reserved yet/,
          /it waits for the file/,
        );
        release();
        const saved = await assistant.follow(waiting);
        expect(saved.path).toMatch(/Put-off-for-a-while/);
        expect(setup.service.tasks.size).toBe(1);
      },
    },
    {
      when: "the window is closed before the service has accepted: the handle is known, and says what starts it again",
      fewestCalls: 3,
      returnsEarly: true,
      setup: setupWithFaults,
      play: async (setup) => {
        setup.service.processingMs = 60_000;
        const earlier = await setup.startAssistant({}, true);
        for (const prompt of ["The first that runs", "The second that runs"]) {
          await earlier.generate({ prompt, wait_seconds: 0 });
        }
        setup.forget();
        const waiting = await earlier.generate({ ...TEXT, ...SHORT });
        waiting.says(/Waiting for one of the account's two running tasks to end/, /Nothing is reserved yet/);
        await earlier.kill();
        setup.service.processingMs = 0;
        const assistant = await setup.startAssistant();
        const looked = await assistant.call("get_task", { task_id: waiting.nextCall.args["task_id"] });
        looked.says(/Never sent; nothing is working on it now/, /Nothing is reserved yet/);
        expect(looked.nextCall.name).toBe("generate_audio");
        expect((await assistant.generate(TEXT)).path).toMatch(/Put-off/);
        expect(setup.service.tasks.size).toBe(3);
      },
    },
  ],
  { atOnce: true },
);

describeConversations("A client that waits briefly", [
  {
    when: "it looks for 1 s: the next step names the usual wait, for a task and for a narration, so that nobody polls",
    fewestCalls: 3,
    returnsEarly: true,
    setup: (era) => setupWithFaults(era, { processingMs: 600_000 }),
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      const waiting = await assistant.generate({ ...TEXT, wait_seconds: 1 });
      expect(waiting.nextCall.args["wait_seconds"]).toBe(45);
      const long = await assistant.generate({ prompt: "Without a wait", wait_seconds: 0 });
      expect(long.nextCall.args["wait_seconds"]).toBe(45);
      const text = { text: "A short one.", max_credits: 150, output_format: "pcm" };
      const narrating = await assistant.call("narrate", { ...text, wait_seconds: 1 });
      expect(narrating.nextCall.args["wait_seconds"]).toBeUndefined();
    },
  },
]);

describeConversations("Taking turns", [
  {
    when: "503 within the window of a call: no report",
    fewestCalls: 1,
    setup: setupWithFaults,
    play: async (setup) => {
      setup.service.intercept = ({ kind, ordinal }, response, service) => {
        if (kind !== "create" || ordinal > 2) return false;
        service.refuse(response, 503, "temporarily_unavailable");
        return true;
      };
      const assistant = await setup.startAssistant();
      expect((await assistant.generate(TEXT)).path).toMatch(/Put-off/);
    },
  },
  {
    when: "many texts at once: as many calls as texts, and the server takes turns",
    fewestCalls: 8,
    setup: (era) => setupWithFaults(era, { processingMs: 20, limitScale: 0.01 }),
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      expect(assistant.instructions).toMatch(/takes turns: send any number of calls/);
      const ids = Array.from({ length: 8 }, (_, index) =>
        assistant.begin("generate_audio", { prompt: `Text number ${index + 1}` }),
      );
      const answers = await Promise.all(ids.map((id) => assistant.answerTo(id)));
      expect(new Set(answers.map(({ path }) => path)).size).toBe(8);
      expect(setup.service.tasks.size).toBe(8);
    },
  },
]);
