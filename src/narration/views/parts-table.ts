/** Renders the parts of a narration as a table for people and models. */
import { takeFirstCodePoints } from "../../contract/unicode.ts";
import type { TaskRecord } from "../../ledger/record.ts";
import type { PartStatus } from "../state/part-summary.ts";
import { describeNarration } from "./narration-messages.ts";
import type { NarrationView } from "./narration-view.ts";

/** One row of the table. */
export interface PartRow {
  readonly number: number;
  readonly text: string;
  readonly chapter: string | null;
  readonly take: number;
  readonly status: PartStatus;
  readonly record: TaskRecord | null;
}

const EXCERPT_CODE_POINTS = 60;

const HEAD = ["part", "status", "take", "task_id", "credits", "seconds", "chapter", "text"] as const;

/** Puts text on one line, and escapes the characters that end a cell. */
const cell = (text: string): string => text.replaceAll(/\s+/g, " ").replaceAll("|", "\\|");

function row({ number, status, take, record, chapter, text }: PartRow): string {
  const excerpt = takeFirstCodePoints(text, EXCERPT_CODE_POINTS);
  const cells = [
    `${number}`,
    status,
    `${take}`,
    record?.taskId ?? "",
    record?.billing?.charged_credits?.toString() ?? "",
    record?.audioSeconds?.toString() ?? "",
    chapter ?? "",
    excerpt === text ? text : `${excerpt}…`,
  ];
  return `| ${cells.map(cell).join(" | ")} |`;
}

/** Renders Markdown: the title, a line that begins with the status, then one row for each part. */
export function renderPartsTable(view: NarrationView, parts: readonly PartRow[]): string {
  const table = [`| ${HEAD.join(" | ")} |`, `|${" --- |".repeat(HEAD.length)}`, ...parts.map(row)];
  return `${cell(view.title)}\n\n${view.status}. ${cell(describeNarration(view))}\n\n${table.join("\n")}\n`;
}
