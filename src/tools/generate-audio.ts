/** The tool `generate_audio`: its schema, its words and its handler. */
import { z } from "zod";
import { audioInputFields, crossFieldFaults } from "../contract/audio-input.ts";
import type { GenerateRequest } from "../generation/use-cases/generate.ts";
import { PLAYER_META } from "./player-uri.ts";
import { fileName, waitSeconds } from "./shared-fields.ts";
import { renderTask, taskOutput } from "./task-output.ts";
import { defineTool, type ToolDeps } from "./tool.ts";

const takeRule = "must be a whole number from 1 to 999";

const input = z.strictObject({
  ...audioInputFields,
  take: z
    .int(takeRule)
    .min(1, takeRule)
    .max(999, takeRule)
    .meta({
      description:
        "1 to 999, default 1. Another is another rendition and pays again: only when the user asks",
    })
    .optional(),
  file_name: fileName.optional(),
  replace: z
    .boolean("must be true or false")
    .meta({ description: "Replaces this server's own file of that file_name. Only when the user asks" })
    .optional(),
  wait_seconds: waitSeconds
    .meta({
      description: "Usually 45; 50 or less, for many clients give up at 60 s. The work goes on after it",
    })
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
  if (args.replace === true && args.file_name === undefined) {
    const message = "needs the file_name of the file that is to be replaced";
    context.addIssue({ code: "custom", path: ["replace"], message, input: args });
  }
  for (const { field, message } of crossFieldFaults(args)) {
    context.addIssue({ code: "custom", path: [field], message, input: args });
  }
});

function requestOf(
  args: z.output<typeof input>,
  deps: ToolDeps,
): { readonly request: GenerateRequest; readonly windowMs: number } {
  const {
    take = 1,
    file_name: fileName = null,
    replace = false,
    wait_seconds: wait = deps.defaultWaitSeconds,
    ...given
  } = args;
  const takesDefaultVoice =
    given.voice === undefined &&
    given.image_url === undefined &&
    (given.audio_references ?? []).length === 0 &&
    deps.defaultVoice !== null;
  const audioInput = takesDefaultVoice ? { ...given, voice: deps.defaultVoice ?? undefined } : given;
  return { request: { input: audioInput, take, fileName, replace }, windowMs: wait * 1000 };
}

export const generateAudio = defineTool({
  name: "generate_audio",
  title: "Generate audio",
  description:
    "Text to speech: turns text into narration (voiceover, podcast, reading aloud) and saves an audio file. Holds 150 credits, charges 10 to 150 by length (75 a minute), returns the rest. The same arguments never pay twice: after a time-out or a cancelled call, repeat it; after an error, do what it says. wait_seconds, file_name and replace make no new task.",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  input,
  rules,
  unpublished: ["model"],
  meta: {
    "anthropic/searchHint": "text to speech tts speak voiceover podcast read aloud",
    ...PLAYER_META,
  },
  output: taskOutput,
  async handle(args, deps, call) {
    const { request, windowMs } = requestOf(args, deps);
    const generation = await deps.generation();
    return renderTask(await generation.generate(request, { ...call, windowMs }), deps);
  },
  async begin(args, deps, call) {
    const { request, windowMs } = requestOf(args, deps);
    const { begin } = await (await deps.generation()).tickets();
    const begun = await begin(request, { ...call, windowMs });
    return "view" in begun ? { view: renderTask(begun.view, deps) } : begun;
  },
});
