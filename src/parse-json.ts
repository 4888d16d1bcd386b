/** Parses JSON that was stored, of which somebody may have changed every byte. */
import type { z } from "zod";

/** Returns the value; `null` if there is no text, or if it is not JSON of the schema. */
export function parseJson<T>(schema: z.ZodType<T>, text: string | null): T | null {
  if (text === null) return null;
  try {
    return schema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
