/** The schema of the planning thread's answer: a plan, or the reason why there is none. */
import { z } from "zod";
import { wordingSchema } from "../../../ledger/stored-error.ts";
import { storedPlanSchema } from "../stored-plan.ts";

export const planAnswerSchema = z.discriminatedUnion("isPlanned", [
  z.object({ isPlanned: z.literal(true), plan: storedPlanSchema }),
  z.object({ isPlanned: z.literal(false), message: z.string(), remedy: wordingSchema.optional() }),
]);
