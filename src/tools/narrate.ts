/** The tool `narrate`: its schema, its words and its handler. */
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import { audioInputFields } from "../contract/audio-input.ts";
import { codePointLength } from "../contract/unicode.ts";
import { VOICE_IDS } from "../contract/voices.ts";
import type { NarrationView } from "../narration/narration-view.ts";
import { messageOf, nextStep } from "../narration/narration-words.ts";
import type { NarrateChanges, NarrateSource } from "../narration/narrations.ts";
import { fileName, waitSeconds } from "./shared-fields.ts";
import { without } from "./task-output.ts";
import { defineTool, type ToolDeps, type ToolResult } from "./tool.ts";

const TEXT_MAX_CODE_POINTS = 100_000;
const PAUSE_SECONDS = 0.6;
const PAUSE_SECONDS_MAX = 10;
const MOST_CREDITS = 10_000_000;

const { voice, output_format, sample_rate, speed, volume, pitch, multilingual } = audioInputFields;
const creditsRule = `must be a whole number from 0 to ${MOST_CREDITS}`;
const pauseRule = `must be a number from 0 to ${PAUSE_SECONDS_MAX}`;
const takeRule = "must be a whole number from 1 to 999";

const input = z.strictObject({
  text: z
    .string("must be a string")
    .refine((text) => codePointLength(text) <= TEXT_MAX_CODE_POINTS, {
      message: `must be at most ${TEXT_MAX_CODE_POINTS.toLocaleString("en")} characters; put a longer text into a file`,
    })
    .meta({ description: "At most 100,000 characters; Markdown is understood" })
    .optional(),
  file: z
    .string("must be a string")
    .meta({ description: "Instead of text: .txt or .md inside AUDIO_INPUT_DIR" })
    .optional(),
  narration_id: z
    .string("must be a string")
    .meta({ description: "Instead of both: how it stands, or to go on" })
    .optional(),
  max_credits: z
    .int(creditsRule)
    .min(0, creditsRule)
    .max(MOST_CREDITS, creditsRule)
    .meta({
      description: "The most it may cost in all, as the user agreed. Omitted: a plan, free. 0 stops it",
    })
    .optional(),
  voice: voice.meta({ description: "As in generate_audio" }),
  voices: z
    .record(z.string(), z.enum(VOICE_IDS, "each must be a voice of list_voices"))
    .meta({ description: 'Speakers: lines that begin with "NAME:" to voice ids' })
    .optional(),
  output_format,
  sample_rate: sample_rate.meta({ description: "Hz, default 24000" }),
  speed: speed.meta({ description: "0.5 to 2" }),
  volume: volume.meta({ description: "0.5 to 2" }),
  pitch: pitch.meta({ description: "-12 to 12" }),
  multilingual,
  pause_seconds: z
    .number(pauseRule)
    .min(0, pauseRule)
    .max(PAUSE_SECONDS_MAX, pauseRule)
    .meta({ description: "Between paragraphs, default 0.6" })
    .optional(),
  files: z
    .enum(["one", "chapters"], "must be one or chapters")
    .meta({ description: "Default one; chapters: a file each" })
    .optional(),
  retakes: z
    .array(
      z.strictObject({
        quote: z.string("must be a string").min(1, "must not be empty"),
        take: z.int(takeRule).min(1, takeRule).max(999, takeRule),
      }),
    )
    .max(100, "must be at most 100")
    .meta({ description: "Other takes of parts, each by words that only that part holds" })
    .optional(),
  skip_failed: z
    .boolean("must be true or false")
    .meta({ description: "Join without parts that fail" })
    .optional(),
  file_name: fileName.meta({ description: "As in generate_audio; a taken name gets a number" }).optional(),
  wait_seconds: waitSeconds.meta({ description: "As in generate_audio" }).optional(),
});
type Args = z.output<typeof input>;

/** What makes the plan; with a narration_id the plan is made already. */
const PLAN_ARGUMENTS = [
  "voice",
  "voices",
  "output_format",
  "sample_rate",
  "speed",
  "volume",
  "pitch",
  "multilingual",
  "pause_seconds",
  "files",
] as const satisfies ReadonlyArray<keyof Args>;

const rules = input.superRefine((args, context) => {
  const sources = (["text", "file", "narration_id"] as const).filter((name) => args[name] !== undefined);
  if (sources.length !== 1) {
    const message = `give exactly one of text, file and narration_id (${sources.length === 0 ? "none is there" : sources.join(" and ")})`;
    context.addIssue({ code: "custom", path: [sources[1] ?? "text"], message, input: args });
  }
  if (args.narration_id === undefined) return;
  for (const name of PLAN_ARGUMENTS) {
    if (args[name] === undefined) continue;
    const message = "belongs to the plan, which narration_id has already; give text or file with it";
    context.addIssue({ code: "custom", path: [name], message, input: args });
  }
});

const facts = z.record(z.string(), z.unknown());

const output = z.strictObject({
  narration_id: z.string(),
  status: z.enum(["planned", "running", "stopped", "finished"]),
  message: z.string(),
  parts: facts,
  credits: facts,
  seconds: facts,
  files: z.array(facts),
  problems: z.array(facts),
  next_step: z.string(),
});

function structuredOf(view: NarrationView): Record<string, unknown> {
  const { parts, credits, seconds, files, problems } = view;
  return {
    narration_id: view.narrationId,
    status: view.status,
    message: messageOf(view),
    parts: {
      total: parts.total,
      saved: parts.saved,
      running: parts.running,
      failed: parts.failed,
      already_paid: parts.alreadyPaid,
    },
    credits: without({
      estimate: credits.estimate,
      charged: credits.charged,
      reserved: credits.reserved,
      max: credits.max,
      suggested_max: credits.suggestedMax,
    }),
    seconds: without({ estimate: seconds.estimate, saved: seconds.saved, left: seconds.left }),
    files: files.map((file) =>
      without({
        path: file.path,
        uri: pathToFileURL(file.path).href,
        mime_type: file.mimeType,
        duration_seconds: Math.round(file.durationSeconds * 1000) / 1000,
        size_bytes: file.sizeBytes,
        sha256: file.sha256,
        chapter: file.chapter,
        captions_path: file.captionsPath,
      }),
    ),
    problems: problems.map(({ part, excerpt, code, message }) =>
      without({ part: part === null ? null : part + 1, excerpt, code, message }),
    ),
    next_step: nextStep(view),
  };
}

/** A narration as a tool result: two forms, each complete without the other. */
export function renderNarration(view: NarrationView): ToolResult {
  const [first] = view.files;
  const text = `Narration ${view.narrationId}, ${view.status}. ${messageOf(view)}\nNext: ${nextStep(view)}`;
  const structured = structuredOf(view);
  if (first === undefined || view.status !== "finished") return { structured, text };
  const { path, mimeType, sizeBytes } = first;
  return {
    structured,
    text,
    link: { uri: pathToFileURL(path).href, name: basename(path), mimeType, sizeBytes },
  };
}

async function sourceOf(args: Args, deps: ToolDeps): Promise<NarrateSource> {
  if (args.narration_id !== undefined) return { kind: "narration", narrationId: args.narration_id };
  const source =
    args.text === undefined
      ? await deps.readInput(args.file ?? "")
      : ({ text: args.text, format: "markdown" } as const);
  const settings = {
    voice: args.voice ?? deps.defaultVoice ?? undefined,
    output_format: args.output_format,
    sample_rate: args.sample_rate,
    speed: args.speed,
    volume: args.volume,
    pitch: args.pitch,
    multilingual: args.multilingual,
  };
  const options = {
    settings,
    voices: args.voices ?? {},
    pauseSeconds: args.pause_seconds ?? PAUSE_SECONDS,
    files: args.files ?? "one",
  };
  return { kind: "text", source, options };
}

function changesOf(args: Args): NarrateChanges {
  return {
    maxCredits: args.max_credits ?? null,
    retakes: args.retakes ?? [],
    skipsFailed: args.skip_failed ?? null,
    fileName: args.file_name ?? null,
  };
}

export const narrate = defineTool({
  name: "narrate",
  title: "Narrate a long text",
  description:
    "Texts of any length (pages, chapters, books) to one audio file, in parts. First call without max_credits: a plan with length and price, nothing is spent. Then with max_credits: repeats and edits pay only for what is new. Goes on after the call returns.",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  input,
  rules,
  output,
  async handle(args, deps, call) {
    const source = await sourceOf(args, deps);
    const narrations = await deps.narrations();
    const windowMs = (args.wait_seconds ?? deps.defaultWaitSeconds) * 1000;
    return renderNarration(await narrations.narrate(source, changesOf(args), { ...call, windowMs }));
  },
});
