/** Renders the parts of a narration as a table for people and models. */
import { takeFirstCodePoints } from "../contract/unicode.ts";
import { describeNarration } from "./narration-messages.ts";
import type { NarrationView, ShownPartStatus } from "./narration-view.ts";

/** One row of the table. */
export interface ShownPart {
  readonly number: number;
  readonly text: string;
  readonly chapter: string | null;
  readonly take: number;
  readonly status: ShownPartStatus;
  readonly taskId: string | null;
  readonly credits: number | null;
  readonly audioSeconds: number | null;
}

const EXCERPT_CODE_POINTS = 60;

/** The words of the column `status`. The player counts the parts with the word `saved`. */
const STATUS_WORDS: Readonly<Record<ShownPartStatus, string>> = {
  not_started: "not started",
  running: "running",
  saved: "saved",
  failed: "failed",
};

const TABLE_HEAD = ["part", "status", "take", "task_id", "credits", "seconds", "chapter", "text"] as const;

/** Puts text on one line, and escapes the characters that end a cell. */
const renderCell = (text: string): string => text.replaceAll(/\s+/g, " ").replaceAll("|", "\\|");

function renderRow({
  number,
  status,
  take,
  taskId,
  credits,
  audioSeconds,
  chapter,
  text,
}: ShownPart): string {
  const excerpt = takeFirstCodePoints(text, EXCERPT_CODE_POINTS);
  const cells = [
    `${number}`,
    STATUS_WORDS[status],
    `${take}`,
    taskId ?? "",
    credits?.toString() ?? "",
    audioSeconds?.toString() ?? "",
    chapter ?? "",
    excerpt === text ? text : `${excerpt}…`,
  ];
  return `| ${cells.map(renderCell).join(" | ")} |`;
}

/** Renders Markdown: the title, a line that begins with the status, then one row for each part. */
export function renderPartsTable(view: NarrationView, parts: readonly ShownPart[]): string {
  const table = [
    `| ${TABLE_HEAD.join(" | ")} |`,
    `|${" --- |".repeat(TABLE_HEAD.length)}`,
    ...parts.map(renderRow),
  ];
  return `${renderCell(view.title)}\n\n${view.status}. ${renderCell(describeNarration(view))}\n\n${table.join("\n")}\n`;
}
