/**
 * Builds the document of a text: its chapters, and in each chapter the paragraph runs, whose paragraphs may share
 * parts.
 */
import { AudioError } from "../../errors.ts";
import type { SourceBlock, UnspokenList } from "./blocks.ts";
import { type ChapterForm, parseChapterForm } from "./chapters/chapter-forms.ts";
import { hasWords } from "./characters.ts";
import { flowParagraph } from "./normalize.ts";
import { MAX_PARTS, type PlannedChapter, type Speaker } from "./plan-types.ts";
import { ITALIC_MARK, type SpeakerLabels, type Turn } from "./speakers/speaker-labels.ts";

/** Why a new run begins. If several reasons apply, the last one in this list counts. */
export type CutReason = "pause" | "speaker" | "rule" | "heading";

/** Paragraphs of one chapter and one voice, with only the usual pause between them. */
export interface ParagraphRun {
  readonly chapterIndex: number;
  readonly speaker: Speaker | null;
  /** Why a new run begins here; ignored for the first run. */
  readonly cutReason: CutReason;
  /** Silence that the text requests before this run; `null` for the usual silence. */
  readonly pauseSeconds: number | null;
  readonly paragraphs: readonly string[];
}

export interface NarrationDocument {
  readonly chapters: readonly PlannedChapter[];
  readonly runs: readonly ParagraphRun[];
}

/**
 * Joins the lines of a heading, or two headings, to one title, such as `CHAPTER I.` and `Down the Rabbit-Hole`. Adds a
 * colon after a line that ends without a mark, or with a bracket.
 */
const joinHeadingLines = (heading: string): string =>
  heading
    .split("\n")
    .reduce((title, line) => (/[\p{Po}\p{Pd}]$/u.test(title) ? `${title} ${line}` : `${title}: ${line}`));

class DocumentBuilder {
  readonly chapters: PlannedChapter[] = [];
  readonly runs: Array<ParagraphRun & { readonly paragraphs: string[] }> = [];
  /** The last heading if no paragraph has followed it; otherwise `null`. */
  #openHeading: { readonly level: number; readonly form: ChapterForm | null } | null = null;
  /** Whether a thematic break stands between the last paragraph and the next. */
  #hasRule = false;
  /** Silence that the text asked for since the last paragraph. */
  #pauseSeconds: number | null = null;

  addHeading(level: number, text: string): void {
    const chapter = this.chapters.at(-1);
    const form = parseChapterForm(joinHeadingLines(text));
    const above = this.#openHeading;
    // If a heading directly follows a higher heading, as `CHAPTER I` follows `BOOK I`, join the two. Otherwise, one
    // part would speak only `BOOK I`, for about one second. A heading that is only a number belongs to the heading
    // below it, whatever their levels, unless that is the next number of the same form.
    const isTitle = above?.form?.hasTitle === false && above.form.key !== form?.key;
    const isBelow = above !== null && (level > above.level || isTitle);
    if (isBelow && this.#pauseSeconds === null && chapter !== undefined) {
      this.chapters.push({
        title: joinHeadingLines(`${chapter.title}\n${text}`),
        level: Math.min(chapter.level ?? level, level),
      });
      this.chapters.splice(-2, 1);
      this.runs.at(-1)?.paragraphs.push(text);
    } else {
      this.chapters.push({ title: joinHeadingLines(text), level });
      this.#openRun(null, "heading", text);
    }
    this.#openHeading = { level, form };
    this.#hasRule = false;
  }

  addParagraph(speaker: Speaker | null, text: string): void {
    if (this.chapters.length === 0) this.chapters.push({ title: null, level: null });
    const run = this.runs.at(-1);
    if (run === undefined || this.#hasRule) this.#openRun(speaker, "rule", text);
    else if (run.speaker !== speaker) this.#openRun(speaker, "speaker", text);
    else if (this.#pauseSeconds !== null) this.#openRun(speaker, "pause", text);
    else run.paragraphs.push(text);
    this.#openHeading = null;
    this.#hasRule = false;
  }

  addGap(gap: Extract<SourceBlock, { kind: "pause" | "rule" }>): void {
    if (gap.kind === "rule") this.#hasRule = true;
    else this.#pauseSeconds = (this.#pauseSeconds ?? 0) + gap.seconds;
  }

  #openRun(speaker: Speaker | null, cutReason: CutReason, text: string): void {
    if (this.runs.length >= MAX_PARTS) {
      throw new AudioError(
        "invalid_request",
        `The text has more than ${MAX_PARTS} headings and changes of voice, each of which begins a part; a narration has at most ${MAX_PARTS} parts. Nothing was sent.`,
      );
    }
    const pauseSeconds = this.#pauseSeconds;
    this.#pauseSeconds = null;
    this.runs.push({
      chapterIndex: this.chapters.length - 1,
      speaker,
      cutReason,
      pauseSeconds,
      paragraphs: [text],
    });
  }
}

/**
 * Builds the document of a text from its blocks.
 *
 * @param unspoken collects what is not spoken: blocks without words, and directions
 */
export function buildDocument(
  blocks: readonly SourceBlock[],
  speakers: SpeakerLabels,
  unspoken: UnspokenList,
): NarrationDocument {
  const builder = new DocumentBuilder();
  /** The speaker of a label without text, who speaks the next paragraph. */
  let announcedSpeaker: Speaker | null = null;
  /** The speaker whose turn continues. */
  let currentSpeaker: Speaker | null = null;
  /** The speaker of the last paragraph. */
  let lastSpeaker: Speaker | null = null;
  speakers.collectLabels(
    blocks.flatMap((block) => (block.kind === "paragraph" ? [block.text] : [])),
    blocks.flatMap((block) => (block.kind === "heading" ? [block.text] : [])),
  );
  for (const block of blocks) {
    if (block.kind === "rule" || block.kind === "pause") {
      builder.addGap(block);
      continue;
    }
    const turns: readonly Turn[] =
      block.kind === "heading"
        ? [{ speaker: null, text: block.text, isLabelled: true }]
        : speakers.splitIntoTurns(block.text, unspoken, announcedSpeaker !== null);
    for (const { speaker, text, isLabelled } of turns) {
      const spokenText = flowParagraph(text.replaceAll(ITALIC_MARK, ""));
      if (isLabelled) currentSpeaker = speaker;
      if (spokenText === "") {
        announcedSpeaker = speaker;
        continue;
      }
      if (!hasWords(spokenText)) {
        unspoken.add("no_words", spokenText);
        builder.addGap({ kind: "rule" });
      } else if (block.kind === "heading") builder.addHeading(block.level, spokenText);
      else {
        const isContinued = block.continues === true && !isLabelled;
        lastSpeaker =
          speaker ??
          announcedSpeaker ??
          (isContinued ? lastSpeaker : speakers.hasContinuingTurns ? currentSpeaker : null);
        builder.addParagraph(lastSpeaker, spokenText);
      }
      announcedSpeaker = null;
    }
  }
  return builder;
}
