/** A block of a page, with the facts that decide whether it belongs to the text of the page. */
import type { SourceBlock } from "../text/blocks.ts";
import type { UnspokenKind } from "../text/unspoken-kinds.ts";

export interface PageBlock {
  readonly block: SourceBlock;
  readonly isInMain: boolean;
  readonly isInArticle: boolean;
  /**
   * The `id` of the block, and the `id` of each element that begins with this block. Tables of contents refer to these
   * `id`s.
   */
  readonly ids: readonly string[];
  /** The number of tags before the first and the last piece of the block's text. */
  readonly firstTag: number;
  readonly lastTag: number;
  /** The words inside links to places of the same book or page. */
  readonly linked: string;
  readonly unlinked: string;
  /** Why the block is not spoken; absent for spoken blocks. */
  readonly unspokenAs?: UnspokenKind;
}
