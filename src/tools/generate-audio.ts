/** The tool `generate_audio`: speaks one text of at most 2,048 characters into one file. */
import { z } from "zod";
import { audioInputFields, reportFieldIssues } from "../contract/audio-input.ts";
import { FIELD_NAMES, requestField } from "../contract/request-fields.ts";
import { containsCues } from "../narration/text/plain/time-codes.ts";
import type { GenerateRequest } from "../requests/use-cases/generate.ts";
import { PLAYER_META } from "./player-uri.ts";
import {
  fileNameSchema,
  parsePronunciations,
  pronounceSchema,
  reportCharacterIssues,
  takeSchema,
  waitSecondsSchema,
} from "./shared-fields.ts";
import { renderTask, taskOutput } from "./task-output.ts";
import { defineTool, type ToolDeps } from "./tool.ts";

const input = z.strictObject({
  ...audioInputFields,
  take: takeSchema
    .meta({
      description: "1 to 999, default 1. Another take is another rendition, paid for again",
    })
    .optional(),
  pronounce: pronounceSchema.optional(),
  file_name: fileNameSchema.optional(),
  replace: z
    .boolean("must be true or false")
    .meta({ description: "Replaces this server's own file of that file_name; default false" })
    .optional(),
  wait_seconds: waitSecondsSchema
    .meta({
      description:
        "0 to 3600, default 45; many clients give up at 60 s, so 50 or less. The work goes on after it",
    })
    .optional(),
});

const rules = input.superRefine((args, context) => {
  reportCharacterIssues([...FIELD_NAMES, "pronounce"], args, context);
  if (args.replace === true && args.file_name === undefined) {
    const message = "needs the file_name of the file that is to be replaced";
    context.addIssue({ code: "custom", path: ["replace"], message, input: args });
  }
  if (containsCues(args.prompt)) {
    const message =
      "holds subtitles, whose times would be read aloud; narrate speaks each cue at its time: give it the same as text";
    context.addIssue({ code: "custom", path: ["prompt"], message, input: args });
  }
  reportFieldIssues(args, context);
});

function buildRequest(
  args: z.output<typeof input>,
  deps: ToolDeps,
): { readonly request: GenerateRequest; readonly waitMs: number } {
  const {
    take = 1,
    pronounce: lines,
    file_name: fileName = null,
    replace = false,
    wait_seconds: wait = deps.defaultWaitSeconds,
    ...audioFields
  } = args;
  const takesDefaultVoice =
    audioFields.voice === undefined &&
    audioFields.image_url === undefined &&
    (audioFields.audio_references ?? []).length === 0 &&
    deps.defaultVoice !== null;
  const audioInput = takesDefaultVoice
    ? { ...audioFields, voice: deps.defaultVoice ?? undefined }
    : audioFields;
  return {
    request: {
      input: audioInput,
      pronunciations: parsePronunciations(lines, deps),
      take,
      fileName,
      mayReplace: replace,
    },
    waitMs: wait * 1000,
  };
}

export const generateAudioTool = defineTool({
  name: "generate_audio",
  title: "Generate audio",
  description:
    "Text to speech (TTS): turns text into narration (voiceover, podcast, reading aloud) and saves an audio file. Charges 10 to 150 credits by length (75 a minute), and reserves 150 until then. The same arguments are the same task, which is never paid twice; wait_seconds, file_name and replace do not count.",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  input,
  rules,
  unpublishedArguments: FIELD_NAMES.filter((name) => requestField(name).tools?.length === 0),
  meta: {
    "anthropic/searchHint": "text to speech tts narration speak voiceover podcast audiobook read aloud",
    ...PLAYER_META,
  },
  output: taskOutput,
  async run(args, deps, call) {
    const { request, waitMs } = buildRequest(args, deps);
    const requests = await deps.requests();
    return renderTask(await requests.generate(request, { ...call, waitMs }), deps);
  },
  async runAsMcpTask(args, deps, call) {
    const { request, waitMs } = buildRequest(args, deps);
    const { start } = await (await deps.requests()).loadMcpTaskOperations();
    const started = await start(request, { ...call, waitMs });
    return "view" in started ? { view: renderTask(started.view, deps) } : started;
  },
});
