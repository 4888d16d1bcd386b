/** The remarks of a plan: sentences that a person should know before paying. */
import { z } from "zod";

/**
 * The subject of a remark. When an edit or a choice of chapters makes a new plan, it treats the remarks of the old plan
 * as follows:
 *
 * - `text` and `language`: kept. A person must agree before a narration with a `language` remark starts.
 * - `whole_text`: dropped, because it states amounts, such as credits or a number of parts.
 * - `edges`: replaced, because it shows how the text of the old plan begins and ends.
 * - `edit`: dropped by the next edit, because it shows the words of the previous edit.
 */
const aboutSchema = z.enum(["text", "language", "whole_text", "edges", "edit"]);

export const remarkSchema = z.object({ about: aboutSchema, sentence: z.string() });
export type Remark = z.infer<typeof remarkSchema>;

export const toRemarks = (about: Remark["about"], sentences: readonly string[]): Remark[] =>
  sentences.map((sentence) => ({ about, sentence }));
