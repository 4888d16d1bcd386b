/** The plan of a narration, and the request that it is made from. */
import { SPEAKER_SETTING_NAMES, type SpeakerSettingName } from "../../contract/request-fields.ts";
import type { VoiceId } from "../../contract/voices.ts";
import type { TextFormat } from "../../files/input-format.ts";
import type { UnspokenKind } from "./unspoken-kinds.ts";

/**
 * Version of the rules by which a text is divided. It increases when these rules change. A running narration keeps the
 * plan that it began with.
 */
export const CUTTING_RULES_VERSION = 2;

/** Default silence between two paragraphs in different parts. */
export const DEFAULT_PAUSE_SECONDS = 0.6;

/**
 * Maximum number of parts: twice as many as 8 MiB of prose need. Only a text that consists of headings or labels needs
 * more.
 */
export const MAX_PARTS = 20_000;

/** Speakers by name. If a speaker has only a voice id, all settings come from the narration. */
export type SpeakersByName = Readonly<Record<string, VoiceId | Speaker>>;

/** A speaker with a voice and settings of their own, which replace those of the narration. */
export interface Speaker extends Partial<Readonly<Record<SpeakerSettingName, number | undefined>>> {
  readonly voice: VoiceId;
}

/** Returns the same text for speakers that sound the same. */
export const buildVoiceSettingsKey = (speaker: Speaker): string =>
  JSON.stringify([speaker.voice, ...SPEAKER_SETTING_NAMES.map((name) => speaker[name])]);

/** Everything that a plan depends on. Equal requests give equal plans, on every machine. */
export interface PlanRequest {
  /** The unchanged input: well-formed Unicode of any length. */
  readonly text: string;
  readonly format: TextFormat;
  /** Speed of the parts. It determines how much text fits into one part. */
  readonly speed: number;
  /** Silence between two paragraphs in different parts. */
  readonly pauseSeconds: number;
  /** Whether each paragraph becomes a part of its own, so that silence can follow it. */
  readonly pausesAfterParagraphs?: boolean | undefined;
  /** Speakers of lines that begin with a name and a colon. */
  readonly speakers?: SpeakersByName | undefined;
}

/** The text from one heading to the next. Text before the first heading is a chapter without a heading. */
export interface PlannedChapter {
  readonly title: string | null;
  /** Level of the heading, 1 (the highest) to 6; `null` if the chapter has no heading. */
  readonly level: number | null;
}

/** The text and settings of one task. */
export interface PlannedPart {
  /** The text to speak: at most 2,048 code points, with a blank line between paragraphs. */
  readonly text: string;
  /** The speaker's voice; absent if the narration's own voice speaks. */
  readonly voice?: VoiceId;
  /** The speaker's settings, which replace the settings of the narration; absent if the speaker has none. */
  readonly settings?: Omit<Speaker, "voice">;
  /** Index in `chapters`. */
  readonly chapterIndex: number;
  /** Silence between this part and the next: 0 for the last part, and 0 if a paragraph continues in the next part. */
  readonly pauseAfterSeconds: number;
  /** Start time in a timeline; absent if the part follows the previous one directly. */
  readonly startSeconds?: number | undefined;
  /** The number or the position of the cue with which the part begins, as text. Present only with `startSeconds`. */
  readonly cue?: string | undefined;
  /** Length at the requested speed, estimated by the fixed table (`src/contract/estimate.ts`). */
  readonly estimatedSeconds: number;
  readonly estimatedCredits: number;
}

/** One kind of text that is not spoken: how often it occurs, with an example. */
export interface UnspokenText {
  readonly kind: UnspokenKind;
  readonly count: number;
  /** The first words of the first occurrence. */
  readonly excerpt: string;
}

export interface NarrationPlan {
  readonly version: typeof CUTTING_RULES_VERSION;
  /** Title that the text itself states, in its front matter or header. */
  readonly title?: string;
  readonly author?: string;
  readonly chapters: readonly PlannedChapter[];
  /** Indexes of the chosen chapters, ascending; absent if all are chosen. */
  readonly chosen?: readonly number[];
  readonly parts: readonly PlannedPart[];
  readonly unspoken: readonly UnspokenText[];
  /** True if the text has marks such as `[pause 2s]`, which become silence; otherwise absent. */
  readonly hasWrittenPauses?: true;
  /** True if the text has tables; otherwise absent. */
  readonly hasTables?: true;
  /** Names in `voices` that do not begin any line of the text. They may be misspelt. */
  readonly silentSpeakers: readonly string[];
  /** Names that begin lines and have no voice; absent if there are none. */
  readonly voicelessNames?: ReadonlyArray<{ readonly name: string; readonly count: number }>;
}
