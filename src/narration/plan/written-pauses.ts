/** Reads `[pause 2s]` on a line of its own as silence. Evidence: form. */
import { AudioError } from "../../errors.ts";
import type { SourceBlock } from "./blocks.ts";

const MAX_SECONDS = 60;

const PAUSE =
  /^\[\s*pause[\s:]+(?<figure>\d{1,6}(?:[.,]\d{1,3})?)\s*(?<unit>ms|milliseconds?|s|secs?|seconds?)?\s*\]$/iu;

/** @throws AudioError `invalid_request` for a pause that is too long */
function secondsIn(line: string): number | null {
  const { figure, unit = "s" } = PAUSE.exec(line.trim())?.groups ?? {};
  if (figure === undefined) return null;
  const seconds = Number(figure.replace(",", ".")) / (/^m/i.test(unit) ? 1000 : 1);
  if (seconds <= MAX_SECONDS) return seconds;
  throw new AudioError(
    "invalid_request",
    `${line.trim()} is longer than ${MAX_SECONDS} s, the longest pause that a text may hold. Nothing was sent.`,
    { remedy: `Write [pause ${MAX_SECONDS}s] at most, or several pauses on lines of their own.` },
  );
}

/** Divides paragraphs at lines that are pauses. */
export function withPauses(blocks: readonly SourceBlock[]): SourceBlock[] {
  return blocks.flatMap((block): SourceBlock[] => {
    if (block.kind !== "paragraph" || !/\[\s*pause/i.test(block.text)) return [block];
    const divided: SourceBlock[] = [];
    let lines: string[] = [];
    const endParagraph = (): void => {
      if (lines.length > 0) divided.push({ kind: "paragraph", text: lines.join("\n") });
      lines = [];
    };
    for (const line of block.text.split(/[\n\u2028]/)) {
      const seconds = secondsIn(line);
      if (seconds === null) lines.push(line);
      else {
        endParagraph();
        divided.push({ kind: "pause", seconds });
      }
    }
    endParagraph();
    return divided;
  });
}
