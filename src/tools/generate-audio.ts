/** The tool `generate_audio`: speaks one text of at most 2,048 characters into one file. */
import { z } from "zod";
import { audioInputFields, reportFieldIssues } from "../contract/audio-input.ts";
import { MAXIMUM_CHARGE_CREDITS, MINIMUM_CHARGE_CREDITS } from "../contract/billing.ts";
import { coerceArguments } from "../contract/coerce-arguments.ts";
import { FIELD_NAMES, requestField } from "../contract/request-fields.ts";
import { containsCues } from "../narration/text/plain/time-codes.ts";
import { listUnreadMarks } from "../narration/text/unread-marks.ts";
import type { GenerateRequest } from "../requests/prepare-request.ts";
import type { RequestView } from "../requests/request-view.ts";
import { PLAYER_META } from "./player-uri.ts";
import {
  booleanSchema,
  createReportIssue,
  fileNameSchema,
  optional,
  parsePronunciations,
  pronounceSchema,
  reportCharacterIssues,
  takeSchema,
  waitSecondsSchema,
} from "./shared-fields.ts";
import { renderTask, taskOutput } from "./task-output.ts";
import {
  BadArgumentsError,
  type CallWork,
  chooseNextWait,
  computeWaitMs,
  defineTool,
  type ToolDeps,
} from "./tool.ts";

const input = z.strictObject({
  ...audioInputFields,
  take: optional(takeSchema, "1 to 999, default 1. Another take is another rendition, paid for again"),
  pronounce: pronounceSchema.optional(),
  file_name: fileNameSchema.optional(),
  replace: optional(booleanSchema, "Replaces this server's own file of that file_name"),
  wait_seconds: optional(
    waitSecondsSchema,
    "0 to 3600, default 45; many clients give up at 60. The work goes on",
  ),
});

const rules = input.superRefine((args, context) => {
  const reportIssue = createReportIssue(args, context);
  reportCharacterIssues([...FIELD_NAMES, "pronounce"], args, reportIssue);
  if (args.replace === true && args.file_name === undefined)
    reportIssue(["replace"], "needs the file_name of the file that is to be replaced");
  if (containsCues(args.prompt)) {
    const message =
      "holds subtitles, whose times would be read aloud; narrate speaks each cue at its time: give it the same as text";
    reportIssue(["prompt"], message);
  }
  reportFieldIssues(args, context);
});

type Args = z.output<typeof input>;

/** Adds the voice of the settings to a call that names no source of its voice. */
function withDefaultVoice(args: Args, { defaultVoice }: Pick<ToolDeps, "defaultVoice">): Args {
  const { voice, image_url: imageUrl, audio_references: references = [] } = args;
  const hasOwnVoice = voice !== undefined || imageUrl !== undefined || references.length > 0;
  return hasOwnVoice || defaultVoice === null ? args : { ...args, voice: defaultVoice };
}

function describeUnreadMarks(prompt: string): string[] {
  const marks = listUnreadMarks(prompt);
  if (marks.length === 0) return [];
  return [
    `The voice gets the text as it stands, so it may speak ${marks.join(", ")}; narrate is for texts with break tags, speakers' names or Markdown, and directions are best left out.`,
  ];
}

function buildRequest(args: Args, deps: Pick<ToolDeps, "defaultVoice" | "pronunciations">): GenerateRequest {
  const {
    take = 1,
    pronounce: lines,
    file_name: fileName = null,
    replace: mayReplace = false,
    wait_seconds: _,
    ...audioInput
  } = withDefaultVoice(args, deps);
  return {
    input: audioInput,
    callPronunciations: parsePronunciations(lines, { pronunciations: [] }),
    pronunciations: parsePronunciations(lines, deps),
    take,
    fileName,
    mayReplace,
    notes: describeUnreadMarks(audioInput.prompt),
  };
}

/**
 * Parses the arguments of a call.
 *
 * @throws BadArgumentsError
 */
export function parseGenerateRequest(
  args: unknown,
  deps: Pick<ToolDeps, "defaultVoice" | "pronunciations">,
): GenerateRequest {
  const parsed = rules.safeParse(coerceArguments(args, input));
  if (!parsed.success) throw new BadArgumentsError(parsed.error);
  return buildRequest(parsed.data, deps);
}

function deriveWork({ status, replayed }: RequestView): CallWork {
  if (status !== "succeeded" && status !== "failed") return "goes_on";
  return replayed ? "none" : "ended";
}

export const generateAudioTool = defineTool({
  name: "generate_audio",
  title: "Generate audio",
  description: `Text to speech (TTS): narration (voiceover, podcast, reading aloud) of a text, saved as an audio file. Charges ${MINIMUM_CHARGE_CREDITS} to ${MAXIMUM_CHARGE_CREDITS} credits by length (75 a minute). The same arguments are the same task, which is never paid twice; wait_seconds, file_name and replace do not count.`,
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
    const requests = await deps.requests();
    const waitMs = computeWaitMs(args.wait_seconds, deps, call);
    const view = await requests.generate(buildRequest(args, deps), { ...call, waitMs });
    const waitSeconds = chooseNextWait(args.wait_seconds, deps);
    return { ...renderTask(view, { ...deps, waitSeconds }), work: deriveWork(view) };
  },
  pinArguments: ({ wait_seconds: _, ...args }, deps) => withDefaultVoice(args, deps),
  async cancel({ id }, deps) {
    const isTakenBack = await (await deps.requests()).withdraw(id);
    return isTakenBack
      ? "Cancelled before anything was sent: nothing was charged. The same call begins a new task."
      : null;
  },
});
