/** Builds the remarks on the text that is not spoken: one sentence for each kind of text. */
import type { UnspokenText } from "../text/plan-types.ts";
import { UNSPOKEN_NOUNS } from "../text/unspoken-kinds.ts";

const NOT_SPOKEN = "Not spoken: ";

/** Builds the remark on one kind of unspoken text: how often it occurs, with an example. */
export function buildUnspokenRemark({ kind, count, excerpt }: UnspokenText): string {
  const [one, many] = UNSPOKEN_NOUNS[kind];
  return `${NOT_SPOKEN}${count === 1 ? one : `${count} ${many}`} (${JSON.stringify(excerpt)}).`;
}

/**
 * Rewords a remark on what is not spoken, for a plan of chosen chapters. The new remark says that its count is for the
 * whole text, including the chapters that were not chosen.
 */
export const toRemarkOnWholeText = (unspoken: string): string =>
  unspoken.replace(NOT_SPOKEN, "Not spoken of the whole text: ");
