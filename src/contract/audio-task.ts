/** Defines AudioTask, the response body of create and query (docs/contract.md, AudioTask). */
import { z } from "zod";
import { OUTPUT_FORMATS, SAMPLE_RATES } from "./audio-format.ts";
import { MAXIMUM_CHARGE_CREDITS, RESERVED_CREDITS } from "./billing.ts";
import { MODEL } from "./service-limits.ts";
import { isTaskId } from "./wire.ts";

/**
 * Statuses of a task that has not ended, in the order in which a task passes through them (docs/contract.md, States).
 */
export const RUNNING_STATUSES = ["queued", "processing"] as const;
export const TASK_STATUSES = [...RUNNING_STATUSES, "succeeded", "failed"] as const;
export type RunningStatus = (typeof RUNNING_STATUSES)[number];
export const isRunning = (status: string | null): status is RunningStatus =>
  RUNNING_STATUSES.some((each) => each === status);
export type TaskStatus = (typeof TASK_STATUSES)[number];

const contractCreditsSchema = z.int().min(0).max(MAXIMUM_CHARGE_CREDITS);

/** A larger number is no bill that anybody could have, and would hide all others in a sum. */
const MAX_STATED_CREDITS = 1_000_000;
const statedCreditsSchema = z.number().nonnegative().max(MAX_STATED_CREDITS);

/**
 * The billing of a task as the service states it. Keeps numbers that break the contract, because the service charged
 * these numbers.
 */
export const billingSchema = z.object({
  reserved_credits: statedCreditsSchema.catch(RESERVED_CREDITS),
  charged_credits: statedCreditsSchema.nullable(),
  refunded_credits: statedCreditsSchema.nullable().catch(null),
});
export type Billing = z.infer<typeof billingSchema>;

const taskFields = z.object({
  id: z.string().refine(isTaskId),
  object: z.literal("audio.generation"),
  model: z.literal(MODEL),
  status: z.enum(TASK_STATUSES),
  billing: z.object({
    reserved_credits: z.literal(RESERVED_CREDITS),
    charged_credits: contractCreditsSchema.nullable(),
    refunded_credits: contractCreditsSchema.nullable(),
  }),
  output: z
    .object({
      url: z.string().min(1).max(4096),
      format: z.enum(OUTPUT_FORMATS),
      sample_rate: z.literal(SAMPLE_RATES),
      duration: z.number().positive(),
    })
    .nullable(),
  usage: z.object({ audio_seconds: z.number().positive() }).nullable(),
  error: z.object({ code: z.string().max(4096), message: z.string().max(65_536) }).nullable(),
});

/**
 * A task as the contract states it. All fields are present. For a succeeded task, checks that the output and usage are
 * present, that there is no error, and that charge and refund add up to the reservation. The contract states these
 * rules for succeeded tasks only. Drops unknown fields instead of refusing the task, so that audio stays available when
 * the service adds a field.
 */
export const audioTaskSchema = taskFields.superRefine((task, context) => {
  if (task.status !== "succeeded") return;
  const { charged_credits: charged, refunded_credits: refunded, reserved_credits: reserved } = task.billing;
  const addsUp = charged !== null && refunded !== null && charged + refunded === reserved;
  const rules = [
    ["billing", addsUp, "charge and refund do not add up to the reservation"],
    ["output", task.output !== null, "a succeeded task has an output"],
    ["usage", task.usage !== null, "a succeeded task has its usage"],
    ["error", task.error === null, "a succeeded task has no error"],
  ] as const;
  for (const [field, holds, message] of rules)
    if (!holds) context.addIssue({ code: "custom", path: [field], message });
});
export type AudioTask = z.infer<typeof audioTaskSchema>;
