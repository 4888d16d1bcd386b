/** The plan of a narration, and the request that it is made from. */
import type { VoiceId } from "../../contract/voices.ts";
import type { TextFormat } from "../../files/input-format.ts";

/** Changes whenever a text could come to other parts: what is half done goes on with the plan that it began with. */
export const PLAN_VERSION = 2;

/** Twice as many as 8 MiB of prose make: a text with more consists of headings or labels. */
export const MAX_PARTS = 20_000;

/** SpeakerLabels by their names; a voice alone takes all else from the narration. */
export type Voices = Readonly<Record<string, VoiceId | Speaker>>;

/** A speaker with a voice and settings of their own. */
export interface Speaker {
  readonly voice: VoiceId;
  /** Instead of the narration's, each. */
  readonly speed?: number | undefined;
  readonly pitch?: number | undefined;
  readonly volume?: number | undefined;
}

/** All that decides a plan. The same request is the same plan, on every machine. */
export interface PlanRequest {
  /** As it was given or read: well-formed Unicode of any length. */
  readonly text: string;
  readonly format: TextFormat;
  /** The factor that the parts are spoken at; it decides how much text fits into one. */
  readonly speed: number;
  /** Between two paragraphs that two parts hold. */
  readonly pauseSeconds: number;
  /** Paragraphs are parts of their own, because silence is possible between parts alone. */
  readonly keepsPauses?: boolean | undefined;
  /** SpeakerLabels of lines that begin with a name and a colon. */
  readonly voices?: Voices | undefined;
}

/** The text from one heading to the next; the first section has no heading where text precedes the first one. */
export interface PlannedSection {
  readonly title: string | null;
  /** 1 (the highest) to 6; `null` where there is no heading. */
  readonly level: number | null;
}

/** The text and settings of one task. */
export interface PlannedPart {
  /** At most 2,048 code points, with a blank line between paragraphs. */
  readonly text: string;
  /** The speaker's voice; absent for the narration's own. */
  readonly voice?: VoiceId;
  /** The speaker's settings in place of the narration's; absent for none. */
  readonly settings?: Omit<Speaker, "voice">;
  /** Index in `sections`. */
  readonly section: number;
  /** Silence between this part and the next; 0 in the midst of a paragraph, and after the last. */
  readonly pauseAfterSeconds: number;
  /** Where a timeline has it begin, and the cue of that time; absent: behind the part before. */
  readonly startSeconds?: number | undefined;
  readonly cue?: string | undefined;
  /** By the fixed table (`src/contract/estimate.ts`), at the speed asked for. */
  readonly estimatedSeconds: number;
  readonly estimatedCredits: number;
}

/** Why something is not spoken: what it is, or `no_words` for units without any letter or digit. */
export type SkippedKind =
  | "front_matter"
  | "html"
  | "code"
  | "math"
  | "latex"
  | "template"
  | "emoji"
  | "badge"
  | "footnote"
  | "ebook_frame"
  | "time_code"
  | "ruby"
  | "note"
  | "table_frame"
  | "leader"
  | "page_mark"
  | "illustration"
  | "reference"
  | "sound"
  | "script_mark"
  | "direction"
  | "song"
  | "empty_cue"
  | "repeat"
  | "no_time"
  | "image"
  | "navigation"
  | "aside"
  | "book_matter"
  | "hidden"
  | "no_words";

/** What is not spoken, one row for each kind. */
export interface Skipped {
  readonly kind: SkippedKind;
  readonly count: number;
  /** The beginning of the first one. */
  readonly excerpt: string;
}

export interface NarrationPlan {
  readonly version: typeof PLAN_VERSION;
  /** As the text itself names them, in its front matter or header. */
  readonly title?: string;
  readonly author?: string;
  readonly sections: readonly PlannedSection[];
  /** Indexes of the sections that are narrated, ascending; absent: all. */
  readonly chosen?: readonly number[];
  readonly parts: readonly PlannedPart[];
  readonly skipped: readonly Skipped[];
  /** Names of `voices` that begin no line: misspelt, perhaps. */
  readonly silentSpeakers: readonly string[];
  /** Names in capitals that begin lines and have no voice; absent where there are none. */
  readonly voicelessNames?: ReadonlyArray<{ readonly name: string; readonly count: number }>;
}
