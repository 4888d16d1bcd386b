/** Defines and checks the arguments of the tool `narrate`, and converts them for the narration layer. */
import { basename } from "node:path";
import { z } from "zod";
import { RESERVED_CREDITS } from "../contract/billing.ts";
import { convertValue } from "../contract/coerce-arguments.ts";
import { boundedIntegerSchema, boundedNumberSchema, formatThousands } from "../contract/numbers.ts";
import {
  NARRATION_SETTING_NAMES,
  pickSchemas,
  REQUEST_FIELDS,
  SPEAKER_SETTING_NAMES,
} from "../contract/request-fields.ts";
import { countCodePoints, takeFirstCodePoints } from "../contract/unicode.ts";
import type { NarrationInput } from "../files/input-format.ts";
import type { NarrateSource } from "../narration/load-narration.ts";
import type { NarrateChanges } from "../narration/narration-answers.ts";
import { narrationSettingsSchema } from "../narration/planning/stored-plan.ts";
import { DEFAULT_PAUSE_SECONDS } from "../narration/text/plan-types.ts";
import { toEdits, toRetakes, toSpeakerLines } from "./argument-shapes.ts";
import {
  booleanSchema,
  createReportIssue,
  fileNameSchema,
  optional,
  parsePronunciations,
  pronounceSchema,
  type ReportIssue,
  reportCharacterIssues,
  stringSchema,
  takeSchema,
  waitSecondsSchema,
} from "./shared-fields.ts";
import type { ToolDeps } from "./tool.ts";

const MAX_TEXT_CODE_POINTS = 100_000;
const MAX_PAUSE_SECONDS = 10;
/**
 * If the caller's pause has at least this length, the pause is inserted between all paragraphs. Each paragraph then
 * becomes a part of its own. A shorter pause is inserted only between two parts of the plan.
 */
const MIN_PAUSE_AFTER_EVERY_PARAGRAPH_SECONDS = 1;
export const MAX_CREDITS = 10_000_000;
const MAX_RETAKES = 100;
const MAX_EDITS = 100;
const MAX_SHOWN_CODE_POINTS = 80;

/** Converts the argument `chapters` to text such as `"3, 5"`, because an assistant may write a number or a list. */
function toChapterList(chapters: unknown): unknown {
  if (typeof chapters === "number") return `${chapters}`;
  const isList =
    Array.isArray(chapters) && chapters.every((each) => ["string", "number"].includes(typeof each));
  return isList ? chapters.join(", ") : chapters;
}

const speakerSchema = z
  .object(pickSchemas(["voice", ...SPEAKER_SETTING_NAMES] as const))
  .partial()
  .required({ voice: true });

const OWN_SETTING = new RegExp(`\\s(${SPEAKER_SETTING_NAMES.join("|")})[\\s=]+([-+]?[\\d.]+),?$`, "i");

/**
 * Parses a speaker's line: name, voice and perhaps settings, as in `SLOW: tracy_es_zh speed 0.7`. Splits at the last
 * colon or equals sign, because voice ids contain neither.
 */
function parseSpeakerLine(line: string): {
  readonly name: string;
  readonly speaker: Readonly<Record<string, unknown>>;
} {
  const colon = Math.max(line.lastIndexOf(":"), line.lastIndexOf("="));
  const settings: Record<string, unknown> = {};
  // One blank for each run, because the pattern would try every blank of a long run.
  let unparsedText = line
    .slice(colon + 1)
    .replace(/\s+/g, " ")
    .trim();
  for (let match = OWN_SETTING.exec(unparsedText); match !== null; match = OWN_SETTING.exec(unparsedText)) {
    const [settingText, name = "", value] = match;
    settings[name.toLowerCase()] = Number(value);
    unparsedText = unparsedText.slice(0, -settingText.length);
  }
  const voice = convertValue(unparsedText.replace(/,$/, ""), REQUEST_FIELDS.voice.schema);
  return { name: line.slice(0, Math.max(colon, 0)).trim(), speaker: { ...settings, voice } };
}

export const narrateInput = z.strictObject({
  text: optional(
    stringSchema,
    `At most ${formatThousands(MAX_TEXT_CODE_POINTS)} characters, plain or Markdown`,
  ),
  file: optional(
    stringSchema,
    "Instead of text: .txt, .md, .html, .epub, .srt, .vtt or .csv (a file per row) in AUDIO_INPUT_DIR",
  ),
  narration_id: optional(
    stringSchema.trim(),
    "Instead of text or file; goes on with max_credits. Voices, pronounce, format, pauses, files stay",
  ),
  max_credits: optional(
    // 0 counts as an omitted limit, because some clients turn null into 0.
    z.preprocess(
      (limit) => (limit === 0 ? undefined : limit),
      boundedIntegerSchema(1, MAX_CREDITS).optional(),
    ),
    `Bounds its cost in all (an edit's anew), plus ${RESERVED_CREDITS} for each part under way; 1 to ${formatThousands(MAX_CREDITS)}`,
  ),
  edits: optional(
    z.preprocess(
      toEdits,
      z.array(
        z.strictObject({ quote: stringSchema, replacement: stringSchema }),
        "must be a list of { quote, replacement }",
      ),
    ),
    "With narration_id: other words for a quote that occurs once",
  ),
  stop: optional(booleanSchema, "Nothing more is created"),
  ...narrationSettingsSchema.shape,
  voices: optional(
    z.preprocess(
      toSpeakerLines,
      z.array(z.string("must be NAME: voice id"), "must be a list of NAME: voice id"),
    ),
    'Speakers of lines that begin with NAME:, as ["ANNA: sophie_en_zh speed 0.9"]',
  ),
  pronounce: optional(pronounceSchema, "As in generate_audio"),
  pause_seconds: optional(
    boundedNumberSchema(0, MAX_PAUSE_SECONDS),
    `Silence between paragraphs, 0 to ${MAX_PAUSE_SECONDS}; from ${MIN_PAUSE_AFTER_EVERY_PARAGRAPH_SECONDS}, each is a part of its own; default ${DEFAULT_PAUSE_SECONDS}, where two parts meet`,
  ),
  files: optional(
    z.enum(["one", "chapters"], "must be one or chapters"),
    "one (default), or chapters: a file each",
  ),
  chapters: optional(
    z.preprocess(toChapterList, z.string("must be numbers or a title")),
    'Only these: "1, 3-5" or a title; rows of a .csv',
  ),
  retakes: optional(
    z.preprocess(
      toRetakes,
      z.array(
        z.strictObject({
          quote: stringSchema.optional(),
          chapter: z.preprocess(toChapterList, stringSchema).optional(),
          take: optional(takeSchema, "1 to 999, default 2"),
          // Omit the description, because the tool's argument `speed` has one.
          speed: boundedNumberSchema(0.5, 2).optional(),
        }),
        "must be a list of { quote or chapter, take, speed }",
      ),
    ),
    "Other takes or speeds of the part with a quote, or of a chapter",
  ),
  skip_failed: optional(booleanSchema, "Join without failed parts; false tries them again"),
  file_name: optional(fileNameSchema, "Default: file's, or first words; a number is added if taken"),
  replace: optional(booleanSchema, "Replaces a file saved by this server"),
  wait_seconds: optional(waitSecondsSchema, "As in generate_audio"),
});
export type NarrateArgs = z.output<typeof narrateInput>;

/**
 * Arguments that change the plan. A call with any of these arguments needs the text or file again, because the stored
 * plan of a narration never changes.
 */
const PLAN_FIELDS = [...NARRATION_SETTING_NAMES, "voices", "pronounce", "pause_seconds", "files"] as const;

function reportSourceIssues(args: NarrateArgs, reportIssue: ReportIssue): void {
  const sources = (["text", "file", "narration_id"] as const).filter((name) => args[name] !== undefined);
  if (sources.length !== 1) {
    const problem = sources.length === 0 ? "" : `must not stand beside ${sources[0]}: `;
    reportIssue([sources[1] ?? "text"], `${problem}give exactly one of text, file and narration_id`);
  }
  if (args.narration_id === undefined) {
    if (args.edits !== undefined)
      reportIssue(["edits"], "needs the narration_id of the narration that is edited");
    return;
  }
  if (args.chapters !== undefined && args.edits !== undefined) {
    reportIssue(["chapters"], "cannot be chosen in the call that edits; choose them in the next one");
  }
  for (const name of PLAN_FIELDS) {
    if (args[name] === undefined || (name === "pronounce" && args.edits !== undefined)) continue;
    reportIssue([name], "needs the text or file again in place of narration_id, because it changes the plan");
  }
}

function reportSpeakerIssues(args: NarrateArgs, reportIssue: ReportIssue): void {
  const lines = args.voices ?? [];
  const speakers = lines.map(parseSpeakerLine);
  for (const [index, { name, speaker }] of speakers.entries()) {
    // Quote the line, because it is untrusted text and must not read like words of this server.
    const shownLine = JSON.stringify(takeFirstCodePoints(lines[index] ?? "", MAX_SHOWN_CODE_POINTS));
    const reportLine = (message: string): void => reportIssue(["voices"], `has ${shownLine}: ${message}`);
    const [issue] = speakerSchema.safeParse(speaker).error?.issues ?? [];
    const field = issue?.path[0];
    const message = issue && (field === "voice" ? issue.message : `${String(field)} ${issue.message}`);
    if (name === "") reportLine("each is NAME: voice id");
    else if (message !== undefined) reportLine(message);
    else if (speakers.findIndex((each) => isSameName(each.name, name)) < index)
      reportLine("a name is there twice");
  }
}

/** Compares two speakers' names. Ignores case, because speaker labels in a text are also matched without case. */
const isSameName = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

function reportTextIssues({ text, retakes = [], edits = [] }: NarrateArgs, reportIssue: ReportIssue): void {
  if (edits.length > MAX_EDITS) reportIssue(["edits"], `must be at most ${MAX_EDITS}`);
  if (retakes.length > MAX_RETAKES) reportIssue(["retakes"], `must be at most ${MAX_RETAKES}`);
  for (const [index, { quote, chapter }] of retakes.entries())
    if ((quote === undefined) === (chapter === undefined))
      reportIssue(["retakes", index], "must have either a quote or a chapter");
  if (text === undefined) return;
  const length = countCodePoints(text);
  if (length <= MAX_TEXT_CODE_POINTS) return;
  reportIssue(
    ["text"],
    `must be at most ${MAX_TEXT_CODE_POINTS} characters (this one has ${length}); put it into a file`,
  );
}

export const narrateRules = narrateInput.superRefine((args, context) => {
  const reportIssue = createReportIssue(args, context);
  reportSourceIssues(args, reportIssue);
  reportCharacterIssues([...NARRATION_SETTING_NAMES, "pronounce", "edits", "chapters"], args, reportIssue);
  reportSpeakerIssues(args, reportIssue);
  reportTextIssues(args, reportIssue);
});

const voicesSchema = z.record(z.string(), speakerSchema);

/** Returns the text of a call, and the settings of its plan. */
export async function readPlanArguments(
  args: NarrateArgs,
  deps: Pick<ToolDeps, "defaultVoice" | "pronunciations" | "readInput">,
): Promise<Extract<NarrateSource, { kind: "text" }>> {
  const input: NarrationInput =
    args.text === undefined ? await deps.readInput(args.file ?? "") : { text: args.text, format: "markdown" };
  const voice = args.voice ?? deps.defaultVoice ?? undefined;
  const settings = narrationSettingsSchema.parse({ ...args, voice });
  const voices = voicesSchema.parse(
    Object.fromEntries((args.voices ?? []).map(parseSpeakerLine).map(({ name, speaker }) => [name, speaker])),
  );
  const pauseSeconds = args.pause_seconds ?? DEFAULT_PAUSE_SECONDS;
  const pronunciations = parsePronunciations(args.pronounce, deps);
  return {
    kind: "text",
    input,
    ...(args.file === undefined ? {} : { sourceName: basename(args.file) }),
    options: {
      settings,
      voices,
      pronunciations,
      pauseSeconds,
      pausesAfterParagraphs: pauseSeconds >= MIN_PAUSE_AFTER_EVERY_PARAGRAPH_SECONDS,
      fileLayout: args.files ?? "one",
      ...(args.chapters === undefined ? {} : { chapters: args.chapters }),
    },
  };
}

/**
 * Converts the arguments that a call may change without making another narration. Omitted arguments become `null`,
 * `false` or an empty list.
 */
export const toNarrateChanges = (args: NarrateArgs): NarrateChanges => ({
  maxCredits: args.max_credits ?? null,
  shouldStop: args.stop ?? false,
  retakes: args.retakes ?? [],
  shouldSkipFailed: args.skip_failed ?? null,
  mayReplace: args.replace ?? false,
  fileName: args.file_name ?? null,
});
