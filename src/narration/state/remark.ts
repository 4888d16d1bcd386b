/** The remarks of a plan: sentences that a person should know before paying. */
import { z } from "zod";

/**
 * What a remark is about. It decides what becomes of the remark in a plan that is made from another plan, such as a plan
 * of chosen chapters:
 *
 * - `text` and `language` are kept. A person must agree before a narration with a `language` remark starts.
 * - `whole_text` is dropped, because it states amounts, such as credits or a number of parts.
 * - `edges` shows how the text begins and ends, and is written again.
 * - `edit` shows the words of an edit, and is dropped by the next edit.
 */
const aboutSchema = z.enum(["text", "language", "whole_text", "edges", "edit"]);

export const remarkSchema = z.object({ about: aboutSchema, sentence: z.string() });
export type Remark = z.infer<typeof remarkSchema>;

export const toRemarks = (about: Remark["about"], sentences: readonly string[]): Remark[] =>
  sentences.map((sentence) => ({ about, sentence }));
