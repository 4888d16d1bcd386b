/** The conversation about the lines of a game: a sheet, its price, and a file for each row. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { noiseSpeech } from "../../support/noise-speech.ts";
import { type ConversationSetup, type Era, setupWithSandbox } from "./conversation-setup.ts";
import { describeConversations } from "./conversations.ts";

const LONG = { timeout: 25_000 };

const FORTY = Array.from(
  { length: 40 },
  (_, index) => `line_${index + 1},"Line ${index + 1}, of the guard.",opal_en_zh`,
);

async function setupWithSheet(era: Era, rows: readonly string[]): Promise<ConversationSetup> {
  const setup = await setupWithSandbox(era, { speech: noiseSpeech });
  const texts = join(setup.testFolders.root, "texts");
  await mkdir(texts);
  await writeFile(join(texts, "lines.csv"), ["file,text,voice", ...rows].join("\n"));
  return setup;
}

const startAssistant = (setup: ConversationSetup) =>
  setup.startAssistant({ AUDIO_INPUT_DIR: join(setup.testFolders.root, "texts") });

describeConversations("The lines of a game", [
  {
    when: "make a file of each of these 40 lines: a plan with their price, and the call that pays for all",
    fewestCalls: 2,
    returnsEarly: true,
    setup: (era) => setupWithSheet(era, FORTY),
    play: async (setup) => {
      const assistant = await startAssistant(setup);
      const plan = await assistant.call("narrate", { file: "lines.csv" });
      plan.says(
        /40 files, one for each row/,
        /Some rows only: the file again, with chapters \\?"1-2\\?" \(the first two\) or their names/,
        /about 400 credits/,
        /opal_en_zh/,
        /Nothing was sent or charged/,
      );
      const { name, args } = plan.nextCall;
      // The service takes seven minutes for forty submissions. However long the call waits, the user is asked nothing
      // more.
      (await assistant.call(name, { ...args, wait_seconds: 0 })).says(/goes on by itself/);
      const count = async (): Promise<number> =>
        (await setup.testFolders.outputNames()).filter((each) => each.endsWith(".mp3")).length;
      await expect.poll(count, LONG).toBe(40);
    },
  },
  {
    when: "row 5 shall say something else: the remedy is the file, and only the new row is paid",
    fewestCalls: 2,
    setup: (era) => setupWithSheet(era, FORTY.slice(0, 5)),
    play: async (setup) => {
      const assistant = await startAssistant(setup);
      const call = { file: "lines.csv", max_credits: 750, wait_seconds: 50 };
      const { text } = await assistant.call("narrate", call);
      const narration_id = /nar_[0-9a-f]{32}/.exec(text)?.[0];
      setup.forget();
      const edits = [{ quote: "row 5", replacement: "Halt!" }];
      const refused = await assistant.call("narrate", { narration_id, edits });
      refused.says(/Change the row in the file, and call narrate with the file again/);
      const rows = FORTY.slice(0, 5).with(3, "line_4,Halt!,opal_en_zh");
      await writeFile(
        join(setup.testFolders.root, "texts", "lines.csv"),
        ["file,text,voice", ...rows].join("\n"),
      );
      (await assistant.call("narrate", call)).says(
        /Saved 1 new file in .*: line_4-2\.mp3 \(line_4\.mp3 has the earlier recording\); 4 files as before/,
        /Cost 10 credits; 4 of its parts were paid for before/,
        /replace true; the recording that has it now gives way, and can be had again, free\./,
        /Tell the user the folder, and which files are new\./,
      );
    },
  },
  {
    when: "the first two rows only, for now, then all: the plan names the rows, and no row is paid twice",
    fewestCalls: 3,
    setup: (era) => setupWithSheet(era, FORTY.slice(0, 5).with(4, "line_5,Halt!,opel")),
    play: async (setup) => {
      const assistant = await startAssistant(setup);
      const plan = await assistant.call("narrate", { file: "lines.csv", chapters: "1-2" });
      plan.says(
        /Only 2 of its 5 rows: \\?"line_1\\?", \\?"line_2\\?" \(rows 2 to 3; the header is row 1\)\. 2 files,/,
      );
      const { args } = plan.nextCall;
      (await assistant.call("narrate", { ...args, wait_seconds: 50 })).says(
        /Saved 2 files/,
        /Cost 20 credits/,
      );
      await writeFile(
        join(setup.testFolders.root, "texts", "lines.csv"),
        ["file,text,voice", ...FORTY.slice(0, 5)].join("\n"),
      );
      const call = { file: "lines.csv", max_credits: 750, wait_seconds: 50 };
      (await assistant.call("narrate", call)).says(
        /Saved 3 new files in .*: line_3\.mp3, line_4\.mp3, line_5\.mp3; 2 files as before/,
        /Cost 30 credits; 2 of its parts were paid for before/,
      );
    },
  },
  {
    when: "one row names an unknown voice: the row is refused by its number, and the corrected sheet is planned",
    fewestCalls: 2,
    setup: (era) => setupWithSheet(era, FORTY.with(16, "line_17,Halt!,opel")),
    play: async (setup) => {
      const assistant = await startAssistant(setup);
      const refused = await assistant.call("narrate", { file: "lines.csv" });
      refused.says(/Row 18: voice "opel" must be the id or the name of a voice; nearest: opal_en_zh/);
      const rows = FORTY.with(16, "line_17,Halt!,opal_en_zh");
      await writeFile(
        join(setup.testFolders.root, "texts", "lines.csv"),
        ["file,text,voice", ...rows].join("\n"),
      );
      (await assistant.call("narrate", { file: "lines.csv" })).says(/40 files, one for each row/);
    },
  },
]);
