/** The stored form of a narration: the plan, which never changes, and the state, which does. */

import { z } from "zod";
import type { OutputFormat } from "../../contract/audio-format.ts";
import { NARRATION_SETTING_NAMES, pickSchemas, REQUEST_FIELDS } from "../../contract/request-fields.ts";
import { LANGUAGES } from "../../contract/voices.ts";
import { AudioError } from "../../errors.ts";
import { remarkSchema } from "./remark.ts";

/** Version of the stored form. It increases if the form changes in a way that older programs would misread. */
const STORED_NARRATION_VERSION = 1;

/** Settings that all parts share. Each part adds its text and its speaker's voice. */
export const narrationSettingsSchema = z.object(pickSchemas(NARRATION_SETTING_NAMES)).partial();
export type NarrationSettings = z.infer<typeof narrationSettingsSchema>;

const storedPartSchema = z.object({
  text: z.string(),
  /** The text with respelled words, which is sent in place of `text`; absent if no word is respelled. */
  respelledText: z.string().optional(),
  voice: REQUEST_FIELDS.voice.schema.nullable(),
  /** The speaker's name for captions, if only one speaker has this voice with these settings. */
  speaker: z.string().optional(),
  /** The speaker's settings, which replace the narration's. */
  settings: narrationSettingsSchema.strict().optional(),
  chapterIndex: z.int().nonnegative(),
  pauseAfterSeconds: z.number().nonnegative(),
  /** Start time in the timeline of subtitles. */
  startSeconds: z.number().nonnegative().optional(),
  cue: z.string().optional(),
  estimatedSeconds: z.number().nonnegative(),
  estimatedCredits: z.number().nonnegative(),
});

const remarksSchema = z.object({
  /** Remarks that are shown before anything is paid. */
  remarks: z.array(remarkSchema),
  /** Sentences about the text that is not spoken. They are also reported with the finished files. */
  unspoken: z.array(z.string()),
});

const pronunciationSchema = z.object({
  word: z.string(),
  say: z.string(),
  language: z.enum(LANGUAGES).nullable(),
});

export const storedPlanSchema = z.object({
  version: z.literal(STORED_NARRATION_VERSION),
  /**
   * Unknown settings are errors, because a newer version of this program may have stored them. If this version ignored
   * them, it would pay for parts with wrong settings.
   */
  settings: narrationSettingsSchema.strict(),
  /** Seconds of silence after a part that ends a paragraph. */
  pauseSeconds: z.number().nonnegative(),
  /** What each file contains: the whole narration, one chapter, or one row of a sheet. */
  fileLayout: z.enum(["one", "chapters", "rows"]),
  /** The title: the first heading, or the first words. */
  title: z.string(),
  /** Title of the whole text, if the plan contains only some of its chapters. */
  wholeTitle: z.string().optional(),
  /** Name of the file from which the text was read. Searches for a narration also match this name. */
  sourceName: z.string().optional(),
  /** The author that the text itself names. */
  author: z.string().optional(),
  chapters: z.array(
    z.object({
      title: z.string().nullable(),
      /** Level of the chapter's heading, 1 (the highest) to 6. */
      level: z.int().positive().optional(),
      /** Number of the chapter's row in a sheet. The header is row 1. */
      row: z.int().positive().optional(),
      /** The file name that the sheet gives, if any. */
      fileName: z.string().optional(),
    }),
  ),
  parts: z.array(storedPartSchema).min(1),
  /** The pronunciation rules of the narration. A later edit applies them to the words that it inserts. */
  pronunciations: z.array(pronunciationSchema).optional(),
  ...remarksSchema.shape,
});
export type StoredPlan = z.infer<typeof storedPlanSchema>;
export type StoredPart = StoredPlan["parts"][number];

/**
 * Returns the audio format that a plan's settings choose, or else the service's default (docs/contract.md, AudioInput).
 */
export const getPlanFormat = ({ settings }: Pick<StoredPlan, "settings">): OutputFormat =>
  settings.output_format ?? "mp3";

const problemSchema = z.object({
  /** Index of the part; `null` for the narration as a whole. */
  partIndex: z.int().nonnegative().nullable(),
  code: z.string(),
  message: z.string(),
});
export type NarrationProblem = z.infer<typeof problemSchema>;

const savedTextSchema = z.object({
  path: z.string(),
  sizeBytes: z.int().nonnegative(),
  sha256: z.string(),
});

const narrationFileSchema = z.object({
  path: z.string(),
  sizeBytes: z.int().nonnegative(),
  sha256: z.string(),
  savedAtMs: z.number(),
  matchesFormat: z.boolean(),
  durationSeconds: z.number().positive(),
  /** Index of the file's chapter; `null` for a file of the whole narration. */
  chapterIndex: z.int().nonnegative().nullable(),
  /** The title of the file's chapter; `null` for a file of the whole narration. */
  chapterTitle: z.string().nullable(),
  captionsFile: savedTextSchema.nullable(),
  /** The captions as SubRip, if they are saved both as WebVTT and as SubRip. In this case, `captionsFile` is WebVTT. */
  srtFile: savedTextSchema.optional(),
  chaptersFile: savedTextSchema.nullable(),
  /**
   * The requested name, if another file already had it. In this case, the file has the name with a number added. `null`
   * if the file has the requested name.
   */
  conflictingName: z.string().nullable(),
  /** A hash of the parts, pauses and name that the file was made from. */
  inputFingerprint: z.string(),
  /** Whether the file was joined before all its parts were saved. */
  isIncomplete: z.boolean(),
  /** Indexes of parts that the file lacks. */
  missingPartIndexes: z.array(z.int().nonnegative()),
  /**
   * Problems of parts whose audio may be wrong, for example because it is cut off. A person should listen to these
   * parts.
   */
  doubtfulPartProblems: z.array(problemSchema),
});
export type NarrationFile = z.infer<typeof narrationFileSchema>;

const count = z.int().nonnegative();
const amount = z.number().nonnegative();
/** The totals that callers get about a narration. */
const totalsSchema = z.object({
  parts: z.object({ total: count, saved: count, running: count, failed: count, alreadyPaid: count }),
  credits: z.object({
    estimate: amount,
    charged: amount,
    reserved: amount,
    /** Maximum cost of the narration; `null` until a call gives a limit. */
    max: amount.nullable(),
    suggestedMax: amount,
    /** The likely charge of running tasks. */
    pendingCharge: amount,
  }),
  seconds: z.object({
    /** Estimated seconds of audio. */
    estimate: amount,
    saved: amount,
    /** Estimated seconds until the narration is finished; `null` if the narration does not run. */
    left: amount.nullable(),
  }),
  /** Number of parts with a chosen speed, or with a take other than 1. */
  retakenPartCount: count,
});
export type NarrationTotals = Readonly<z.infer<typeof totalsSchema>>;

/** How the MCP task of a narration ended. */
export const narrationMcpTaskEndSchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("cancelled"),
    totals: totalsSchema,
    /**
     * Whether other calls want the narration's audio, so that the narration continued after this MCP task was
     * cancelled.
     */
    isLeftRunning: z.boolean(),
  }),
  /**
   * The MCP task ended because the narration ended. The status at that time is stored here, because a later call may
   * continue the narration and change its status.
   */
  z.object({
    kind: z.literal("ended"),
    status: z.enum(["planned", "stopped", "finished"]),
    problems: z.array(problemSchema),
    files: z.array(narrationFileSchema),
    totals: totalsSchema,
  }),
]);
export type NarrationMcpTaskEnd = z.infer<typeof narrationMcpTaskEndSchema>;

const retakeSchema = z.object({
  partIndex: z.int().nonnegative(),
  take: z.int().positive(),
  /** Replaces the plan's speed. */
  speed: REQUEST_FIELDS.speed.schema.optional(),
});

export const NARRATION_STATUSES = ["planned", "running", "stopped", "finished"] as const;

export const narrationStateSchema = z.object({
  version: z.literal(STORED_NARRATION_VERSION),
  status: z.enum(NARRATION_STATUSES),
  /** Maximum cost of the narration; `null` until a call gives a limit. */
  maxCredits: z.number().nonnegative().nullable(),
  /** Parts with a chosen speed, or with a take other than 1. */
  retakes: z.array(retakeSchema),
  /**
   * Number of times that calls have started the narration. If the number increases while a driver works, a call has
   * started the narration again, and the driver must not mark the narration as ended.
   */
  startCount: z.int().nonnegative(),
  /**
   * Processes whose calls have requested the narration since it last began to run. Calls with an MCP task do not count.
   * While one of these processes lives, the narration continues, even if all MCP tasks are cancelled.
   */
  callerProcesses: z.array(z.string()).default([]),
  shouldSkipFailed: z.boolean(),
  /**
   * Whether the latest call allows the narration's files to replace files that have the same names. A file is replaced
   * only if this server saved it and nobody has changed it since.
   */
  mayReplace: z.boolean().default(false),
  fileName: z.string().nullable(),
  problems: z.array(problemSchema),
  files: z.array(narrationFileSchema),
  /** The plan's title. It is copied into the state, because lists do not read the plan. */
  title: z.string(),
  /**
   * Remarks on the latest text. The plan's own remarks may be outdated, because a later text may have the same parts
   * but other unspoken text.
   */
  ...remarksSchema.shape,
  totalPartCount: z.int().positive(),
  savedPartCount: z.int().nonnegative(),
  createdAtMs: z.number(),
  /**
   * When the narration last began to run. At that time, `savedPartCountAtStart` parts were saved. The two numbers give
   * the average time per part, from which the remaining time is estimated.
   */
  startedAtMs: z.number().nullable(),
  savedPartCountAtStart: z.int().nonnegative(),
  /** When the latest part was saved; `null` if no part has been saved since the narration last began to run. */
  lastSavedAtMs: z.number().nullable().default(null),
});
export type NarrationState = z.infer<typeof narrationStateSchema>;

/** Builds the state of a narration that is planned and was never started. `createdAtMs` is wall-clock time. */
export const buildNewState = (
  { title, parts, remarks, unspoken }: StoredPlan,
  createdAtMs: number,
): NarrationState => ({
  version: STORED_NARRATION_VERSION,
  status: "planned",
  maxCredits: null,
  retakes: [],
  startCount: 0,
  callerProcesses: [],
  shouldSkipFailed: false,
  mayReplace: false,
  fileName: null,
  problems: [],
  files: [],
  title,
  remarks,
  unspoken,
  totalPartCount: parts.length,
  savedPartCount: 0,
  createdAtMs,
  startedAtMs: null,
  savedPartCountAtStart: 0,
  lastSavedAtMs: null,
});

/**
 * Replaces the remarks with those of a changed text that has the same parts. Returns the same object if the remarks are
 * equal.
 */
export function withRemarks(
  state: NarrationState,
  { remarks, unspoken }: Pick<StoredPlan, "remarks" | "unspoken">,
): NarrationState {
  const isSame = JSON.stringify([state.remarks, state.unspoken]) === JSON.stringify([remarks, unspoken]);
  return isSame ? state : { ...state, remarks, unspoken };
}

/**
 * Parses stored JSON by its schema.
 *
 * @throws AudioError `store_unavailable` if the stored value is invalid
 */
export function parseStored<T>(schema: z.ZodType<T>, text: string, narrationId: string): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const version = z.looseObject({ version: z.number() }).safeParse(value).data?.version ?? 0;
  const isNewer =
    version > STORED_NARRATION_VERSION ||
    parsed.error.issues.some(({ code }) => code === "unrecognized_keys");
  throw new AudioError(
    "store_unavailable",
    `What the ledger holds of ${narrationId} ${isNewer ? "was written by a newer version of this server" : "is damaged"}.`,
    {
      remedy: isNewer
        ? "Update this server; nothing is lost."
        : "Call narrate with the text again: parts that were paid for are found by their text, and are not paid again.",
    },
  );
}
