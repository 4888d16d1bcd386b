/** The remarks of a plan: sentences that a person should know before paying. */
import { z } from "zod";

/**
 * The subject of a remark. When a plan is made from an older plan, by an edit or by a choice of chapters, the remarks
 * of the older plan are treated as follows:
 *
 * - `text` and `language`: kept. A person must agree before a narration with a `language` remark starts.
 * - `whole_text`: dropped, because it states amounts, such as credits or a number of parts.
 * - `edges`: replaced, because it shows how the text of the older plan begins and ends.
 * - `edit`: dropped by the next edit, because it shows the words of the previous edit.
 */
const aboutSchema = z.enum(["text", "language", "whole_text", "edges", "edit"]);

export const remarkSchema = z.object({
  about: aboutSchema,
  sentence: z.string(),
  /** The sentence for a person at a shell, if it names options. */
  terminal: z.string().optional(),
});
export type Remark = z.infer<typeof remarkSchema>;

/** Converts sentences to remarks that all have the subject `about`. */
export const toRemarks = (about: Remark["about"], sentences: readonly string[]): Remark[] =>
  sentences.map((sentence) => ({ about, sentence }));
