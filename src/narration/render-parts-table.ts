/** Renders the parts of a narration as a table for people and models. */
import { shortenText } from "../contract/unicode.ts";
import { describeNarration } from "./narration-messages.ts";
import { type ShownPartStatus, toShownStatus } from "./narration-view.ts";
import type { PartsView, PartTime } from "./part-times.ts";

const EXCERPT_CODE_POINTS = 60;

/** The words of the column `status`. The player counts the parts with the word `saved`. */
const STATUS_WORDS: Readonly<Record<ShownPartStatus, string>> = {
  not_started: "not started",
  running: "running",
  saved: "saved",
  failed: "failed",
};

const TABLE_HEAD = [
  ...["part", "status", "take", "task_id", "credits", "seconds", "starts_at", "ready_in", "chapter", "text"],
] as const;

/** Renders when a part begins, in seconds; estimates begin with a tilde. */
const renderStart = ({ startSeconds, isEstimate }: PartTime): string =>
  `${isEstimate ? "~" : ""}${startSeconds.toFixed(3)}`;

/** Puts text on one line, and escapes the characters that end a cell. */
const renderCell = (text: string): string => text.replaceAll(/\s+/g, " ").replaceAll("|", "\\|");

/** Renders Markdown: the title, a line that begins with the status, then one row for each part. */
export function renderPartsTable({ view, viewed: { plan, states }, times }: PartsView): string {
  const rows = states.map((state, index) => {
    const time = times[index];
    const { part, task } = state;
    const { text = "", chapterIndex = 0 } = plan.parts[part.position] ?? {};
    return [
      part.position + 1,
      STATUS_WORDS[toShownStatus(state)],
      part.take,
      task?.task_id,
      task?.charged_credits,
      task?.audio_seconds,
      time && renderStart(time),
      time?.readySeconds,
      plan.chapters[chapterIndex]?.title,
      shortenText(text, EXCERPT_CODE_POINTS),
    ];
  });
  const table = [
    `| ${TABLE_HEAD.join(" | ")} |`,
    `|${" --- |".repeat(TABLE_HEAD.length)}`,
    ...rows.map((cells) => `| ${cells.map((cell) => renderCell(`${cell ?? ""}`)).join(" | ")} |`),
  ];
  return `${renderCell(view.title)}\n\n${view.status}. ${renderCell(describeNarration(view))}\n\n${table.join("\n")}\n`;
}
