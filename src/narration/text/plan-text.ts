/**
 * Plans a narration: the text of each task, its voice, and the pauses (docs/reference-narrations.md, Plan of a
 * narration).
 */
import { AudioError } from "../../errors.ts";
import { getBlockText, type ParsedText, UnspokenList } from "./blocks.ts";
import { hasWords } from "./characters.ts";
import { splitIntoParts } from "./cutting/split.ts";
import { PARAGRAPH_JOINT } from "./cutting/units.ts";
import { buildDocument, type CutReason, type NarrationDocument, type ParagraphRun } from "./document.ts";
import { parseMarkdown } from "./markdown/markdown.ts";
import { hasMarkdown } from "./markdown/markdown-signs.ts";
import { flowParagraph, normalizeLines } from "./normalize.ts";
import { parsePlainText } from "./plain/plain-text.ts";
import {
  CUTTING_RULES_VERSION,
  type NarrationPlan,
  type PlannedPart,
  type PlanRequest,
} from "./plan-types.ts";
import { buildPlannedPart, chooseSpeed } from "./planned-part.ts";
import { SpeakerLabels } from "./speakers/speaker-labels.ts";
import { markBreakTags, withPauses } from "./written-pauses.ts";

const HEADING_PAUSE_SECONDS = 2;
const RULE_PAUSE_SECONDS = 1.5;

const REPLACEMENT_CHARACTER = "\ufffd";
const LOST_CONTEXT_CODE_UNITS = 30;

/**
 * Returns the pause before a run of paragraphs. Before a heading or after a thematic break, the pause is never shorter
 * than the pause between paragraphs.
 */
function choosePauseBeforeRun(cutReason: CutReason, pauseSeconds: number): number {
  if (cutReason === "heading") return Math.max(HEADING_PAUSE_SECONDS, pauseSeconds);
  return cutReason === "rule" ? Math.max(RULE_PAUSE_SECONDS, pauseSeconds) : pauseSeconds;
}

/**
 * Plans a narration. The plan depends on the request alone: not on clock, network, ledger or locale.
 *
 * @throws AudioError `invalid_request` if there is nothing to speak, the text is damaged, or a
 *   speaker's name cannot begin a line
 */
export function planText(request: PlanRequest): NarrationPlan {
  assertSpeakable(request.text);
  const text = markBreakTags(request.text);
  return planBlocks((unspoken) => parseText({ ...request, text }, unspoken), request);
}

/**
 * Plans a text in any file format from the blocks that `parse` returns.
 *
 * @param parse returns the blocks, and adds the text that is not spoken to `unspoken`
 * @throws AudioError as {@link planText} does
 */
export function planBlocks(
  parse: (unspoken: UnspokenList) => ParsedText,
  request: Omit<PlanRequest, "text" | "format">,
): NarrationPlan {
  const unspoken = new UnspokenList();
  const speakers = new SpeakerLabels(request.speakers ?? {});
  const { blocks, title, author, hasTables = false } = parse(unspoken);
  for (const block of blocks) assertSpeakable(getBlockText(block));
  const divided = withPauses(blocks);
  const hasWrittenPauses = divided.some(({ kind }) => kind === "pause");
  const document = buildDocument(divided, speakers, unspoken);
  const parts = cutRunsIntoParts(document, request, unspoken);
  if (parts.length === 0) {
    const unspokenRows = unspoken.rows().map(({ kind, excerpt }) => `${kind}: ${JSON.stringify(excerpt)}`);
    throw new AudioError(
      "invalid_request",
      `The text holds nothing to speak: no letter or digit${unspokenRows.length === 0 ? "" : ` that would be spoken. Not spoken: ${unspokenRows.join(", ")}`}.`,
    );
  }
  const voicelessNames = speakers.listVoicelessNames();
  return {
    version: CUTTING_RULES_VERSION,
    ...(title === null ? {} : { title }),
    ...(author === null ? {} : { author }),
    chapters: document.chapters,
    parts,
    unspoken: unspoken.rows(),
    ...(hasWrittenPauses ? { hasWrittenPauses } : {}),
    ...(hasTables ? { hasTables } : {}),
    silentSpeakers: speakers.listSilentSpeakers(),
    ...(voicelessNames.length === 0 ? {} : { voicelessNames }),
  };
}

/** Refuses damaged text before it is paid for. */
export function assertSpeakable(text: string): void {
  if (!text.isWellFormed()) {
    throw new AudioError(
      "invalid_request",
      "The text is not well-formed Unicode (it holds half of a surrogate pair).",
    );
  }
  const offset = text.indexOf(REPLACEMENT_CHARACTER);
  if (offset === -1) return;
  const context = text
    .slice(Math.max(0, offset - LOST_CONTEXT_CODE_UNITS), offset + LOST_CONTEXT_CODE_UNITS)
    .toWellFormed();
  throw new AudioError(
    "invalid_request",
    `The text holds U+FFFD (${REPLACEMENT_CHARACTER}), which stands for a character that was lost on the way here: ${JSON.stringify(context)}.`,
    { remedy: "Give the text again as UTF-8, with the character meant. Nothing was sent or charged." },
  );
}

/**
 * Reads a text as Markdown only if it is labelled as Markdown and has signs of Markdown. The label alone is not enough,
 * because chats label every text as Markdown.
 */
function parseText(
  { text, format }: Pick<PlanRequest, "text" | "format">,
  unspoken: UnspokenList,
): ParsedText {
  return format === "markdown" && hasMarkdown(normalizeLines(text))
    ? parseMarkdown(text, unspoken)
    : parsePlainText(text, unspoken);
}

/**
 * Reads the replacement text of an edit, as Markdown if it has signs of Markdown.
 *
 * @returns the paragraphs with blank lines between them; `null` if the text has a heading, a pause or code
 */
export function parseReplacement(text: string): string | null {
  const unspoken = new UnspokenList();
  const { blocks } = parseText({ text: markBreakTags(text), format: "markdown" }, unspoken);
  const paragraphs = withPauses(blocks).map((block) =>
    block.kind === "paragraph" ? flowParagraph(block.text) : null,
  );
  if (paragraphs.includes(null) || unspoken.rows().length > 0) return null;
  return paragraphs.join(PARAGRAPH_JOINT);
}

/**
 * Puts each paragraph into a group of its own, so that silence can follow it. A heading shares a group with the
 * paragraph below it, because the voice pauses after a heading anyway.
 */
function splitRunByParagraph({ cutReason, paragraphs }: ParagraphRun): readonly (readonly string[])[] {
  const headSize = cutReason === "heading" ? 2 : 1;
  return [paragraphs.slice(0, headSize), ...paragraphs.slice(headSize).map((paragraph) => [paragraph])];
}

function cutRunsIntoParts(
  { runs }: NarrationDocument,
  {
    speed: narrationSpeed,
    pauseSeconds,
    pausesAfterParagraphs = false,
  }: Omit<PlanRequest, "text" | "format">,
  unspoken: UnspokenList,
): PlannedPart[] {
  const parts: PlannedPart[] = [];
  for (const [index, run] of runs.entries()) {
    const next = runs[index + 1];
    const defaultPause = next === undefined ? 0 : choosePauseBeforeRun(next.cutReason, pauseSeconds);
    const pauseAfterRun = next?.pauseSeconds ?? defaultPause;
    const speed = chooseSpeed(run.speaker, narrationSpeed);
    const groups = pausesAfterParagraphs ? splitRunByParagraph(run) : [run.paragraphs];
    const partTexts = groups.flatMap((paragraphs) => splitIntoParts(paragraphs, speed));
    for (const [textIndex, partText] of partTexts.entries()) {
      const isLast = textIndex === partTexts.length - 1;
      const pauseAfterSeconds = isLast ? pauseAfterRun : partText.endsParagraph ? pauseSeconds : 0;
      // Skip text without letters or digits, such as a part of a long row of symbols.
      if (!hasWords(partText.text)) {
        unspoken.add("no_words", partText.text);
        continue;
      }
      const position = { chapterIndex: run.chapterIndex, pauseAfterSeconds };
      parts.push(buildPlannedPart(partText, run.speaker, narrationSpeed, position));
    }
  }
  return parts;
}
