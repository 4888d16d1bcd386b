/** The stored form of a narration's plan, which is parsed when it is read, and of its remarks. */
import { z } from "zod";
import type { OutputFormat } from "../../contract/audio-format.ts";
import { NARRATION_SETTING_NAMES, pickSchemas, REQUEST_FIELDS } from "../../contract/request-fields.ts";
import { LANGUAGES } from "../../contract/voices.ts";
import { AudioError } from "../../errors.ts";

/** Version of the stored form. It increases if the form changes in a way that older programs would misread. */
const STORED_PLAN_VERSION = 1;

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

/**
 * The subject of a remark. When a plan is made from an older plan, by an edit or by a choice of chapters, the remarks
 * of the older plan are treated as follows:
 *
 * - `text` and `language`: kept. A person must agree before a narration with a `language` remark starts.
 * - `whole_text`: dropped, because it states amounts, such as credits or a number of parts.
 * - `edges`: replaced, because it shows how the text of the older plan begins and ends.
 * - `edit`: dropped by the next edit, because it shows the words of the previous edit.
 */
const aboutSchema = z.enum(["text", "language", "whole_text", "edges", "edit"]);

const remarkSchema = z.object({
  about: aboutSchema,
  sentence: z.string(),
  /** The sentence for a person at a shell, if it names options. */
  terminal: z.string().optional(),
  /** What to do about it, as a part of the next step. */
  step: z.strictObject({ assistant: z.string(), terminal: z.string() }).optional(),
});
export type Remark = z.infer<typeof remarkSchema>;

/** Converts sentences, which a person should know before paying, to remarks that all have the subject `about`. */
export const toRemarks = (about: Remark["about"], sentences: readonly string[]): Remark[] =>
  sentences.map((sentence) => ({ about, sentence }));

const pronunciationSchema = z.object({
  word: z.string(),
  say: z.string(),
  language: z.enum(LANGUAGES).nullable(),
});

export const storedPlanSchema = z.object({
  version: z.literal(STORED_PLAN_VERSION),
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
  /** When the last cue of subtitles ends. */
  timelineEndSeconds: z.number().nonnegative().optional(),
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
  /** Remarks that are shown before anything is paid. */
  remarks: z.array(remarkSchema),
  /** Sentences about the text that is not spoken. They are also reported with the finished files. */
  unspoken: z.array(z.string()),
});
export type StoredPlan = z.infer<typeof storedPlanSchema>;
export type StoredPart = StoredPlan["parts"][number];

/**
 * Returns the audio format that a plan's settings choose, or else the service's default (docs/contract.md, AudioInput).
 */
export const getPlanFormat = ({ settings }: Pick<StoredPlan, "settings">): OutputFormat =>
  settings.output_format ?? "mp3";

/** Thrown for a plan that cannot be read. Unlike a ledger that is away, it does not mend itself. */
export class UnreadablePlanError extends AudioError {}

/**
 * Parses a plan as the ledger holds it.
 *
 * @throws UnreadablePlanError `store_unavailable` if the stored value is missing or invalid
 */
export function parseStoredPlan(value: unknown, narrationId: string): StoredPlan {
  const parsed = storedPlanSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const version = z.looseObject({ version: z.number() }).safeParse(value).data?.version ?? 0;
  const isNewer =
    version > STORED_PLAN_VERSION || parsed.error.issues.some(({ code }) => code === "unrecognized_keys");
  throw new UnreadablePlanError(
    "store_unavailable",
    `What the ledger holds of ${narrationId} ${isNewer ? "was written by a newer version of this server" : "is damaged"}.`,
    {
      remedy: isNewer
        ? "Update this server; nothing is lost."
        : "Call narrate with the text again: parts that were paid for are found by their text, and are not paid again.",
    },
  );
}
