/** The blocks of a text, whatever its markup: headings, paragraphs and pauses in order. */
import { shortenExcerpt } from "./excerpt.ts";
import type { UnspokenText } from "./plan-types.ts";
import type { UnspokenKind } from "./unspoken-kinds.ts";

/** In a text, `\n` is a soft line break. {@link HARD_BREAK} is a line break that is kept. */
export type SourceBlock =
  | { readonly kind: "heading"; readonly level: number; readonly text: string }
  | {
      readonly kind: "paragraph";
      readonly text: string;
      /**
       * Whether this paragraph continues the previous one after a pause. The speaker stays the same, unless this
       * paragraph begins with a speaker's label.
       */
      readonly continues?: boolean;
    }
  /** A pause that the text asks for. */
  | { readonly kind: "pause"; readonly seconds: number }
  /** A thematic break. */
  | { readonly kind: "rule" };

/** Returns the text of a heading or a paragraph; an empty string for other blocks. */
export const getBlockText = (block: SourceBlock): string =>
  block.kind === "paragraph" || block.kind === "heading" ? block.text : "";

export interface ParsedText {
  readonly blocks: readonly SourceBlock[];
  readonly title: string | null;
  readonly author: string | null;
  /** Whether it has tables, whose rows are paragraphs; absent if its reader does not say. */
  readonly hasTables?: boolean;
}

/** Counts what is not spoken, by kind. The kinds are in the order of their first occurrence. */
export class UnspokenList {
  readonly #rows = new Map<UnspokenKind, UnspokenText>();

  add(kind: UnspokenKind, text: string): void {
    const row = this.#rows.get(kind);
    const excerpt = row?.excerpt ?? shortenExcerpt(text);
    this.#rows.set(kind, { kind, count: (row?.count ?? 0) + 1, excerpt });
  }

  /** Removes the matches of a pattern from a text, and counts them. Keeps those that `mayDrop` refuses. */
  drop(
    kind: UnspokenKind,
    text: string,
    pattern: RegExp,
    mayDrop: (match: string, offset: number) => boolean = () => true,
  ): string {
    return text.replace(pattern, (match: string, ...others: unknown[]) => {
      const offset = others.find((each) => typeof each === "number") ?? 0;
      if (!mayDrop(match, offset)) return match;
      this.add(kind, match.trim());
      return "";
    });
  }

  rows(): readonly UnspokenText[] {
    return [...this.#rows.values()];
  }
}
