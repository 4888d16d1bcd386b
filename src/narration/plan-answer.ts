/** What the planning thread answers: a plan, or why there is none. */
import { z } from "zod";
import { storedPlanSchema } from "./narration-state.ts";

export const planAnswerSchema = z.discriminatedUnion("isPlanned", [
  z.object({ isPlanned: z.literal(true), plan: storedPlanSchema }),
  z.object({ isPlanned: z.literal(false), message: z.string(), remedy: z.string().optional() }),
]);
