/** The tool `generate_audio`: its schema, its words and its handler. */
import { z } from "zod";
import { audioInputFields, crossFieldFaults } from "../contract/audio-input.ts";
import { fileName, waitSeconds } from "./shared-fields.ts";
import { renderTask, taskOutput } from "./task-output.ts";
import { defineTool } from "./tool.ts";

const takeRule = "must be a whole number from 1 to 999";

const input = z.strictObject({
  ...audioInputFields,
  take: z
    .int(takeRule)
    .min(1, takeRule)
    .max(999, takeRule)
    .meta({
      default: 1,
      description: "Another rendition of the same request: pays again. Only when the user asks for one",
    })
    .optional(),
  file_name: fileName.optional(),
  wait_seconds: waitSeconds
    .meta({ description: "Then a handle is returned and the work goes on; default by settings, usually 45" })
    .optional(),
});

/** What stands where bytes of a text could not be read: somebody on the way here lost the real character. */
const LOST_CHARACTER = "\ufffd";

/** Arguments that become part of the paid request; a lost character in them would be spoken, or fetched, and paid. */
function lostCharacters(args: z.output<typeof input>): PropertyKey[][] {
  const texts: Array<[path: PropertyKey[], text: string | undefined]> = [
    [["prompt"], args.prompt],
    [["image_url"], args.image_url],
    ...(args.audio_references ?? []).map((url, index): [PropertyKey[], string] => [
      ["audio_references", index],
      url,
    ]),
  ];
  return texts.filter(([, text]) => text?.includes(LOST_CHARACTER) === true).map(([path]) => path);
}

const rules = input.superRefine((args, context) => {
  for (const path of lostCharacters(args)) {
    const message = `holds U+FFFD (${LOST_CHARACTER}), which stands for a character that was lost on the way here; send the text again as UTF-8, with the character meant`;
    context.addIssue({ code: "custom", path, message, input: args });
  }
  for (const { field, message } of crossFieldFaults(args)) {
    context.addIssue({ code: "custom", path: [field], message, input: args });
  }
});

export const generateAudio = defineTool({
  name: "generate_audio",
  title: "Generate audio",
  description:
    "Turns text into narration and saves it as an audio file. Reserves 150 credits; charges 10 to 150 by length (75 a minute) and returns the rest. Repeating a call with the same arguments never pays twice: after a time-out or error, repeat it unchanged.",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  input,
  rules,
  output: taskOutput,
  async handle(args, deps, call) {
    const { take = 1, file_name: name, wait_seconds: wait = deps.defaultWaitSeconds, ...given } = args;
    const takesDefaultVoice =
      given.voice === undefined &&
      given.image_url === undefined &&
      (given.audio_references ?? []).length === 0 &&
      deps.defaultVoice !== null;
    const audioInput = takesDefaultVoice ? { ...given, voice: deps.defaultVoice ?? undefined } : given;
    const generation = await deps.generation();
    const view = await generation.generate(
      { input: audioInput, take, fileName: name ?? null },
      { ...call, windowMs: wait * 1000 },
    );
    return renderTask(view);
  },
});
