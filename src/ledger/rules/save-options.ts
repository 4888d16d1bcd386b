/** How a call saves its audio: under which name, and whether it may replace a file. */
import { z } from "zod";

const saveOptionsSchema = z.object({
  /** The requested name; `null` if the call requests none. */
  fileName: z.string().nullable(),
  /** Whether to replace a file that this server saved under the requested name. */
  mayReplace: z.boolean(),
});

/** How a call saves the audio. Calls with the same request and the same options share an MCP task. */
export type SaveOptions = Readonly<z.infer<typeof saveOptionsSchema>>;

export const storedSaveOptionsSchema = saveOptionsSchema.extend({
  /** Whether the call found an existing task. */
  replayed: z.boolean(),
});
