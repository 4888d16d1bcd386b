/**
 * The tool `narrate`: plans a long text, and speaks it only within `max_credits`. Its arguments are in
 * narrate-input.ts.
 */
import { z } from "zod";
import { mimeTypeForPath } from "../contract/audio-format.ts";
import { roundToMilliseconds } from "../contract/numbers.ts";
import { NARRATION_SETTING_NAMES } from "../contract/request-fields.ts";
import { NARRATION_STATUSES } from "../ledger/schema.ts";
import type { NarrateSource } from "../narration/load-narration.ts";
import { findBeside, type NarrationFile } from "../narration/narration-files.ts";
import {
  describeCancelled,
  describeFilesBriefly,
  describeNarration,
} from "../narration/narration-messages.ts";
import { describeNarrationNextStep, proposeLimit } from "../narration/narration-next-steps.ts";
import type { NarrationView } from "../narration/narration-view.ts";
import { formatChapterList } from "../narration/plan-messages.ts";
import {
  MAX_CREDITS,
  type NarrateArgs,
  narrateInput,
  narrateRules,
  readPlanArguments,
  toNarrateChanges,
} from "./narrate-input.ts";
import { PLAYER_META } from "./player-uri.ts";
import { parsePronunciations } from "./shared-fields.ts";
import { omitNullish } from "./task-output.ts";
import {
  type CallWork,
  chooseNextWait,
  computeWaitMs,
  defineTool,
  type ToolDeps,
  type ToolResult,
} from "./tool.ts";

const facts = z.record(z.string(), z.unknown());

const output = z.strictObject({
  narration_id: z.string(),
  status: z.enum(NARRATION_STATUSES),
  message: z.string(),
  parts: facts,
  credits: facts,
  seconds: facts,
  chapters: z.array(facts).optional(),
  files: z.array(facts),
  problems: z.array(facts),
  next_step: z.string(),
});

/**
 * Returns the files to list in the result. While a sheet is running, returns no files, because the call is repeated
 * often during that time. The message states the number of files instead.
 */
const selectListedFiles = ({ isSheet, status, files }: NarrationView): NarrationView["files"] =>
  isSheet && status === "running" ? [] : files;

const fileFacts = (file: NarrationFile) => ({
  sha256: file.audio.sha256,
  chapter: file.chapterTitle,
  captions_path: findBeside(file, "captions")?.path,
  srt_path: findBeside(file, "srt")?.path,
  chapters_path: findBeside(file, "chapters")?.path,
});

/** Builds the structured fields of a result. Omits empty fields. */
export function toStructured(view: NarrationView): Record<string, unknown> {
  const { chapters, problems, seconds } = view;
  const { alreadyPaid, ...parts } = view.parts;
  const { suggestedMax: _, leastMax: __, pendingCharge: ___, ...credits } = view.credits;
  const isUnderWay = view.status === "running" || view.status === "finished";
  return {
    narration_id: view.narrationId,
    status: view.status,
    message: describeNarration(view, describeFilesBriefly(view)),
    parts: { ...parts, already_paid: alreadyPaid },
    // Beside a limit that is in force, another one would only confuse.
    credits: omitNullish({ ...credits, suggested_max: isUnderWay ? null : proposeLimit(view) }),
    seconds: omitNullish(seconds),
    ...(chapters.length > 0 && {
      chapters: chapters.map(({ number, title, seconds: length, credits: price }) =>
        omitNullish({ number, title, seconds: Math.round(length), credits: Math.round(price) }),
      ),
    }),
    files: selectListedFiles(view).map((file) =>
      omitNullish({
        row: file.sheetRow,
        path: file.audio.path,
        duration_seconds: roundToMilliseconds(file.audio.seconds ?? 0),
        // State the size even for the files of a sheet, because the player needs the size. For a sheet, omit the facts
        // that follow, because a sheet may have a thousand files.
        size_bytes: file.audio.size_bytes,
        ...(view.isSheet ? {} : fileFacts(file)),
      }),
    ),
    problems: problems.map(({ partIndex, excerpt, code, message }) =>
      omitNullish({ part: partIndex === null ? null : partIndex + 1, excerpt, code, message }),
    ),
    next_step: describeNarrationNextStep(view).assistant,
  };
}

/** Renders a narration as a tool result, as fields and as text. Each form is complete on its own. */
export function renderNarration(view: NarrationView): ToolResult {
  const [firstFile] = view.files;
  const message = [describeNarration(view), formatChapterList(view)]
    .filter((sentence) => sentence !== "")
    .join(" ");
  const text = `${view.narrationId}: ${message}\nNext: ${describeNarrationNextStep(view).assistant}`;
  // `meta` is for the player, which shows the title as its heading. Models do not see `meta`.
  const rendered = { structured: toStructured(view), text, meta: { title: view.title } };
  if (firstFile === undefined || view.status !== "finished") return rendered;
  const { path, size_bytes: sizeBytes } = firstFile.audio;
  return { ...rendered, link: { path, mimeType: mimeTypeForPath(path), sizeBytes } };
}

async function readSource(args: NarrateArgs, deps: ToolDeps): Promise<NarrateSource> {
  if (args.narration_id !== undefined) {
    if (args.edits !== undefined) {
      const pronunciations = parsePronunciations(args.pronounce, deps);
      return { kind: "edited", narrationId: args.narration_id, edits: args.edits, pronunciations };
    }
    if (args.chapters !== undefined) {
      return { kind: "chosen", narrationId: args.narration_id, chapters: args.chapters };
    }
    return { kind: "narration", narrationId: args.narration_id, mayResume: args.max_credits === undefined };
  }
  return await readPlanArguments(args, deps);
}

/** Builds the question for the credit limit of a planned narration. Returns no question if nothing has to be paid. */
function buildQuestion(view: NarrationView): Pick<ToolResult, "question"> {
  const { estimate, suggestedMax } = view.credits;
  if (view.status !== "planned" || estimate === 0) return {};
  const message = `${JSON.stringify(view.title)}: ${describeNarration(view)} How many credits may it cost at most? (${suggestedMax} leaves room for a text that comes out longer.)`;
  const argument = "max_credits";
  const title = "Credits at most";
  return {
    question: { argument, message, title, minimum: 1, maximum: MAX_CREDITS, suggested: suggestedMax },
  };
}

function deriveWork({ status, isRepeat }: NarrationView): CallWork {
  if (status === "running") return "goes_on";
  return status === "planned" || isRepeat === true ? "none" : "ended";
}

function buildResult(args: NarrateArgs, view: NarrationView): ToolResult {
  const rendered = { ...renderNarration(view), work: deriveWork(view) };
  const isQuestion = args.max_credits === undefined && args.stop !== true;
  return isQuestion ? { ...rendered, ...buildQuestion(view) } : rendered;
}

export const narrateTool = defineTool({
  name: "narrate",
  title: "Narrate a long text",
  description:
    "Narration of a long text (pages, a book), and of a short one with several speakers, as one audio file with captions (.vtt) and chapters. Without max_credits: a free plan with length and price. With it: makes the file, or first says what to agree to; goes on after the call returns. A repeat or an edited text pays for new parts alone.",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  input: narrateInput,
  rules: narrateRules,
  boundsPublishedIn: { tool: "generate_audio", names: NARRATION_SETTING_NAMES },
  meta: PLAYER_META,
  output,
  async run(givenArgs, deps, call) {
    // A resumed call names its narration, because the file may have changed, and the narration may have been stopped.
    const args =
      call.target === undefined ? givenArgs : { narration_id: call.target, replace: givenArgs.replace };
    const source = await readSource(args, deps);
    const narrations = await deps.narrations();
    const waitMs = computeWaitMs(args.wait_seconds, deps, call);
    const view = await narrations.narrate(source, toNarrateChanges(args), { ...call, waitMs });
    const nextWaitSeconds = chooseNextWait(args.wait_seconds, deps);
    const isShort = nextWaitSeconds < deps.defaultWaitSeconds;
    return buildResult(args, isShort ? { ...view, nextWaitSeconds } : view);
  },
  pinArguments: ({ wait_seconds: _, ...args }) =>
    toNarrateChanges(args).maxCredits === null || args.stop === true ? null : args,
  async cancel({ id, target }, deps) {
    const narrations = await deps.narrations();
    await narrations.cancel(id);
    if (target === null) return "Cancelled before anything was sent: nothing was charged.";
    const { view } = await narrations.look(target);
    return describeCancelled(view, view.status === "running");
  },
});
