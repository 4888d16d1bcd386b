/** The parts of a narration as a table that people and models can read. */
import { firstCodePoints } from "../contract/unicode.ts";
import type { NarrationView } from "./narration-view.ts";
import { messageOf } from "./narration-words.ts";
import type { NarrationPart } from "./narrations.ts";

const EXCERPT_CODE_POINTS = 60;

const HEAD = ["part", "status", "take", "task_id", "credits", "seconds", "chapter", "text"] as const;

/** One line without characters that would end a cell. */
const cell = (text: string): string => text.replaceAll(/\s+/g, " ").replaceAll("|", "\\|");

function row({ number, standing, take, record, chapter, text }: NarrationPart): string {
  const excerpt = firstCodePoints(text, EXCERPT_CODE_POINTS);
  const cells = [
    `${number}`,
    standing,
    `${take}`,
    record?.taskId ?? "",
    record?.billing?.charged_credits?.toString() ?? "",
    record?.audioSeconds?.toString() ?? "",
    chapter ?? "",
    excerpt === text ? text : `${excerpt}…`,
  ];
  return `| ${cells.map(cell).join(" | ")} |`;
}

/** Markdown: the title, how the narration stands (a line that begins with its status), then a row a part. */
export function partsTable(view: NarrationView, parts: readonly NarrationPart[]): string {
  const table = [`| ${HEAD.join(" | ")} |`, `|${" --- |".repeat(HEAD.length)}`, ...parts.map(row)];
  return `${cell(view.title)}\n\n${view.status}. ${cell(messageOf(view))}\n\n${table.join("\n")}\n`;
}
