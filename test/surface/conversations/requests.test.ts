/** Conversations about requests with several wishes: a budget that the user states in a sentence, an edit, speakers, captions, other languages, a stop. */

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { buildText, PART_BYTES, paragraph } from "../../narration/narrator.ts";
import type { FakeService } from "../../support/fake-service.ts";
import { type CountedConversation, type Era, setupWithFaults } from "./conversation-setup.ts";
import { describeConversations } from "./conversations.ts";

/** Lets the service take no submission. */
function refuseSubmissions(service: FakeService): void {
  service.intercept = ({ kind }, response) => {
    if (kind !== "create") return false;
    service.refuse(response, 503, "temporarily_unavailable");
    return true;
  };
}

const SOUNDING = { audioBytes: PART_BYTES, audioSeconds: 4, hasDistinctSounds: true } as const;
const sounding =
  (more: Parameters<typeof setupWithFaults>[1] = {}) =>
  (era: Era): Promise<CountedConversation> =>
    setupWithFaults(era, { ...SOUNDING, ...more });

/** Raw sound, because the service of these conversations has no encoder. */
const RAW = { output_format: "pcm" };
const ARTICLE = { ...RAW, text: buildText("One", "Two", "Three") };
const JUST_FITS = "It fits. ".repeat(227).padEnd(2048, "!").slice(0, 2048);
/** Makes a call wait for the file. */
const PATIENT = { wait_seconds: 40 };

describeConversations("A longer wish", [
  {
    when: "read me this article, for 600 credits at most: the price first, then within that ceiling",
    fewestCalls: 2,
    setup: sounding(),
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      expect(assistant.instructions).toMatch(
        /narrate, first without max_credits .*also if a budget is named/,
      );
      const plan = await assistant.call("narrate", ARTICLE);
      plan.says(
        /about \d+ credits/,
        /Nothing was sent or charged/,
        /a ceiling \(at least \d+\): about \d+ are charged/,
      );
      const { args } = plan.nextCall;
      const done = await assistant.call("narrate", { ...args, max_credits: 600, ...PATIENT });
      done.says(/Cost 30 credits/, /\.pcm/);
      expect(setup.service.tasks.size).toBe(3);
    },
  },
  {
    when: "for 200 credits at most, which do not suffice: what is needed is said before anything is sent, also by the id",
    fewestCalls: 3,
    setup: sounding(),
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      const { nextCall } = await assistant.call("narrate", ARTICLE);
      const limit = { narration_id: nextCall.args["narration_id"], max_credits: 200 };
      const told = await assistant.call("narrate", limit);
      told.says(
        /likely to end it early/,
        /about \d+ credits are likely to be charged, and each part holds 150/,
        /If they keep to 200/,
      );
      told.hides(/Ask the user which limit/);
      expect(setup.service.exchanges).toEqual([]);
      (await assistant.call("narrate", { ...limit, ...PATIENT })).says(/Cost 30 credits|30 credits charged/);
    },
  },
  {
    when: "a text of 2,048 characters fits, and is one call",
    fewestCalls: 1,
    setup: sounding(),
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      expect((await assistant.generate({ ...RAW, prompt: JUST_FITS })).path).toContain(".pcm");
    },
  },
  {
    when: "change one sentence of it: one call by its id and a quote, and one part is paid",
    fewestCalls: 1,
    setup: sounding(),
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      const plan = await assistant.call("narrate", { ...ARTICLE, max_credits: 900, ...PATIENT });
      plan.says(/Cost 30 credits/);
      const id = /nar_[0-9a-f]{32}/.exec(plan.text)?.[0];
      setup.forget();
      const edits = [{ quote: "So ends Two.", replacement: "That was Two." }];
      const edited = await assistant.call("narrate", {
        narration_id: id,
        edits,
        max_credits: 400,
        ...PATIENT,
      });
      edited.says(/Cost 10 credits/, /\.pcm/);
      expect(setup.service.tasks.size).toBe(4);
    },
  },
  {
    when: "two speakers: a speaker without a voice or without a line is reported before anything is paid",
    fewestCalls: 3,
    setup: sounding(),
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      const text = "ANNA: Where were you?\n\nBEN: At the mill.\n\nANNA: And?\n\nBEN: It burned.";
      const first = await assistant.call("narrate", { ...RAW, text, voices: ["ANNA: sophie_en_zh"] });
      first.says(/BEN begins 2 lines and has no voice/);
      const voices = ["ANNA: sophie_en_zh", "BEN: stokie_en"];
      const plan = await assistant.call("narrate", { ...RAW, text, voices });
      plan.hides(/no voice/);
      (await assistant.call("narrate", { ...plan.nextCall.args, ...PATIENT })).says(/Cost 40 credits/);
    },
  },
  {
    when: "with captions, please: they are saved beside the file, and named",
    fewestCalls: 2,
    setup: sounding(),
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      const plan = await assistant.call("narrate", ARTICLE);
      (await assistant.call("narrate", { ...plan.nextCall.args, ...PATIENT })).says(/\.vtt/);
    },
  },
  {
    when: "read chapter.md: the folder is named, and its file read without its text in the chat",
    fewestCalls: 2,
    setup: sounding(),
    play: async (setup) => {
      const inputDir = join(setup.testFolders.root, "texts");
      await mkdir(inputDir);
      await writeFile(join(inputDir, "chapter.md"), `# A chapter\n\n${paragraph("It")}`);
      const assistant = await setup.startAssistant({ AUDIO_INPUT_DIR: inputDir });
      expect(assistant.instructions).toContain(
        `narrate reads files of ${inputDir} (setting AUDIO_INPUT_DIR)`,
      );
      const plan = await assistant.call("narrate", { ...RAW, file: "chapter.md" });
      (await assistant.call("narrate", { ...plan.nextCall.args, ...PATIENT })).says(/\/chapter\.pcm/);
    },
  },
  {
    when: "read chapter.md, with no folder set: which setting opens one, and that the text itself will do",
    fewestCalls: 1,
    setup: sounding(),
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      const refused = await assistant.call("narrate", { file: "chapter.md" });
      refused.says(/AUDIO_INPUT_DIR/, /text/);
      expect(setup.service.exchanges).toEqual([]);
    },
  },
  {
    when: "is it done? asked in a new chat: the list names it, and the call that waits for it",
    fewestCalls: 2,
    returnsEarly: true,
    setup: sounding({ processingMs: 600_000 }),
    play: async (setup) => {
      const first = await setup.startAssistant();
      await first.call("narrate", { ...ARTICLE, max_credits: 900, wait_seconds: 0 });
      setup.forget();
      const assistant = await setup.startAssistant();
      const listed = await assistant.call("list_tasks");
      listed.says(/running/, /of 3/);
      setup.service.processingMs = 0;
      (await assistant.call("narrate", { ...listed.nextCall.args, ...PATIENT })).says(/Cost 30 credits/);
      expect(setup.service.tasks.size).toBe(3);
    },
  },
  {
    when: "two takes, so that I can choose: two calls, two files, both paid",
    fewestCalls: 2,
    setup: sounding(),
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      const first = await assistant.generate({ ...RAW, prompt: "Twice.", file_name: "twice" });
      const second = await assistant.repeat({ take: 2 });
      expect(second.path).not.toBe(first.path);
      second.says(/Cost 10 credits/);
      expect(setup.service.tasks.size).toBe(2);
    },
  },
  {
    when: "a Spanish text with an English voice: reported before anything is sent",
    fewestCalls: 1,
    setup: sounding(),
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      expect(assistant.instructions).toMatch(/Take a voice that speaks the text's language/);
      const text =
        "El viejo molino de la ribera no tenía ya nada que moler, y los niños lo sabían muy bien. ";
      const plan = await assistant.call("narrate", { ...RAW, text: text.repeat(10), voice: "stokie_en" });
      plan.says(/Spanish/, /stokie_en/);
      expect(setup.service.exchanges).toEqual([]);
    },
  },
  {
    when: "a 402 in between: what is missing, and after the top-up the same id continues",
    fewestCalls: 2,
    setup: sounding(),
    play: async (setup) => {
      let isEmpty = true;
      setup.service.intercept = ({ kind }, response, service) => {
        if (kind !== "create" || !isEmpty || service.tasks.size === 0) return false;
        service.refuse(response, 402, "insufficient_credits");
        return true;
      };
      const assistant = await setup.startAssistant();
      const stopped = await assistant.call("narrate", { ...ARTICLE, max_credits: 900, ...PATIENT });
      stopped.says(/150 credits must be available/, /incomplete/);
      isEmpty = false;
      (await assistant.call("narrate", { ...stopped.nextCall.args, ...PATIENT })).says(/Cost 30 credits/);
      expect(setup.service.tasks.size).toBe(3);
    },
  },
  {
    when: "a wrong key, which the person replaces: where it is set, that a restart is needed, and the same call",
    fewestCalls: 2,
    setup: sounding(),
    play: async (setup) => {
      const wrong = await setup.startAssistant({ AUDIO_API_KEY: "sk-wrong-0123456789abcdef" });
      const refused = await wrong.generate({ ...RAW, prompt: "Keyed." });
      refused.says(/AUDIO_API_KEY/, /restart/i);
      const assistant = await setup.startAssistant();
      expect((await assistant.generate({ ...RAW, prompt: "Keyed." })).path).toContain(".pcm");
    },
  },
  {
    when: "stop, and later go on: what is still charged, what is kept, and the call that goes on",
    fewestCalls: 2,
    returnsEarly: true,
    setup: sounding({ processingMs: 300 }),
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      const begun = await assistant.call("narrate", { ...ARTICLE, max_credits: 900, wait_seconds: 0 });
      await expect.poll(() => setup.service.tasks.size, { timeout: 60_000 }).toBeGreaterThan(0);
      const id = /nar_[0-9a-f]{32}/.exec(begun.text)?.[0];
      setup.forget();
      const stopped = await assistant.call("narrate", { narration_id: id, stop: true, ...PATIENT });
      stopped.says(/[Ss]topped/, /goes on where it stopped/);
      stopped.says(/What is saved is then joined as \/\S.* \(incomplete\)\.pcm, or with a number/);
      (await assistant.call("narrate", { ...stopped.nextCall.args, ...PATIENT })).says(/Cost 30 credits/);
      expect(setup.service.tasks.size).toBe(3);
    },
  },
  {
    when: "chapter 6 first, please, while the book is made: the answer says how, and that its parts are paid once",
    fewestCalls: 3,
    returnsEarly: true,
    setup: sounding({ processingMs: 600_000 }),
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      const names = ["One", "Two", "Three", "Four", "Five", "Six"];
      const text = names.map((name) => `# ${name}\n\n${paragraph(name)}`).join("\n\n");
      const book = { ...RAW, text, max_credits: 2000 };
      const begun = await assistant.call("narrate", { ...book, wait_seconds: 0 });
      begun.says(/For a chapter sooner: narrate with narration_id nar_\w+, chapters and max_credits/);
      const { narration_id } = begun.nextCall.args;
      await expect.poll(() => setup.service.tasks.size, { timeout: 60_000 }).toBe(2);
      const call = { narration_id, chapters: "6", max_credits: 300 };
      const sooner = await assistant.call("narrate", { ...call, wait_seconds: 0 });
      sooner.says(new RegExp(`Some of its parts are also those of ${narration_id}, .*; each is paid once`));
      setup.service.processingMs = 0;
      for (const task of setup.service.tasks.values()) task.status = "succeeded";
      (await assistant.call("narrate", { ...sooner.nextCall.args, ...PATIENT })).says(
        /Saved/,
        /Cost 0 credits/,
      );
      const made = (): string[] =>
        [...setup.service.tasks.values()].map(({ body }) => JSON.parse(body).prompt);
      expect(made().findIndex((prompt) => prompt.startsWith("Six"))).toBeLessThan(5);
      await expect.poll(() => setup.service.tasks.size, { timeout: 60_000 }).toBe(6);
    },
  },
  {
    when: "another take within a limit that has no room for it: nothing is stored, and the least limit is named",
    fewestCalls: 3,
    setup: sounding(),
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      const made = await assistant.call("narrate", {
        ...RAW,
        text: "We did it.",
        max_credits: 150,
        ...PATIENT,
      });
      const narration_id = /nar_[0-9a-f]{32}/.exec(made.text)?.[0];
      const retakes = [{ quote: "We did it", take: 2 }];
      const call = { narration_id, retakes, ...PATIENT };
      const refused = await assistant.call("narrate", { ...call, max_credits: 150 });
      refused.says(/A plan: 1 part to be made/, /max_credits 150 pays for no part/, /Nothing was sent/);
      const { args } = refused.nextCall;
      expect(args["max_credits"]).toBe(160);
      (await assistant.call("narrate", { ...call, ...args })).says(/Cost 20 credits in all, 10 of them/);
    },
  },
  {
    when: "a service that is away: the list says what is being done, as get_task does",
    fewestCalls: 3,
    returnsEarly: true,
    setup: sounding(),
    play: async (setup) => {
      refuseSubmissions(setup.service);
      const assistant = await setup.startAssistant();
      const waiting = await assistant.generate({ ...RAW, prompt: "The pool opens.", wait_seconds: 1 });
      const { args } = waiting.says(/The service is unavailable/).nextCall;
      const looked = await assistant.call("get_task", { task_id: args["task_id"] });
      looked.says(/The service is unavailable/, /150 credits may be reserved/);
      const listed = await assistant.call("list_tasks");
      listed.says(
        /up to 150 more are held/,
        new RegExp(`The service is unavailable.* get_task with task_id ${args["task_id"]} and wait_seconds`),
      );
      listed.hides(/download_audio/);
    },
  },
  {
    when: "stop, while the service has taken nothing: no file is promised",
    fewestCalls: 2,
    returnsEarly: true,
    setup: sounding(),
    play: async (setup) => {
      refuseSubmissions(setup.service);
      const assistant = await setup.startAssistant();
      const text = { ...RAW, text: "The pool closes.", max_credits: 150 };
      const begun = await assistant.call("narrate", { ...text, wait_seconds: 2 });
      const narration_id = /nar_[0-9a-f]{32}/.exec(begun.text)?.[0];
      const stopped = await assistant.call("narrate", { narration_id, stop: true });
      stopped.says(/[Ss]topped/, /stay reserved for what has no answer yet/).hides(/is then joined/);
    },
  },
  {
    when: "louder and faster: another request, paid, and the first file stays",
    fewestCalls: 1,
    setup: sounding(),
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      const first = await assistant.generate({ ...RAW, prompt: "Softly." });
      setup.forget();
      const louder = await assistant.repeat({ volume: 1.5, speed: 1.2 });
      louder.says(/Cost 10 credits/);
      expect(louder.path).not.toBe(first.path);
    },
  },
  {
    when: "how is Nguyen said? one argument, and it says what it respelled",
    fewestCalls: 1,
    setup: sounding(),
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      const said = await assistant.generate({ ...RAW, prompt: "Ask Nguyen.", pronounce: ["Nguyen=Win"] });
      said.says(/Respelled: Nguyen/);
      expect(said.path).toContain("Nguyen");
    },
  },
  {
    when: "with a pause, a whisper and a rule for a word that is not there: the result says what may be spoken, and the tool for it",
    fewestCalls: 1,
    setup: sounding(),
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      const prompt = 'ANNA: Wait. <break time="3s"/> [whispering] **Now**.';
      const said = await assistant.generate({ ...RAW, prompt, pronounce: ["Nguyen=Win"] });
      said.says(
        /may speak "<break time=\\"3s\\"\/>", "\[whispering\]", "ANNA:", Markdown; narrate is for texts with/,
        /Not in the text as a word of its own, so not respelled: Nguyen/,
      );
    },
  },
  {
    when: "what did all that cost? one look at the list",
    fewestCalls: 1,
    setup: sounding(),
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      await assistant.generate({ ...RAW, prompt: "One." });
      setup.forget();
      (await assistant.call("list_tasks")).says(/10 credits today/);
    },
  },
  {
    when: "what did it cost so far? What is held is told apart from what was charged",
    fewestCalls: 1,
    returnsEarly: true,
    setup: sounding({ processingMs: 600_000 }),
    play: async (setup) => {
      const assistant = await setup.startAssistant();
      await assistant.call("narrate", { ...ARTICLE, max_credits: 900, wait_seconds: 0 });
      await expect.poll(() => setup.service.runningTaskCount, { timeout: 20_000 }).toBe(2);
      setup.forget();
      const listed = await assistant.call("list_tasks");
      listed.says(
        /Spent: 0 credits today.*; up to 300 more are held by tasks that have not ended/,
        /0 credits, 300 credits held|held_credits: 300/,
      );
    },
  },
]);
