/** Owns the reading of an AudioTask from an answer, leniently where money is concerned; sends nothing. */
import { z } from "zod";
import {
  OUTPUT_FORMATS,
  type OutputFormat,
  SAMPLE_RATES,
  type SampleRate,
} from "../contract/audio-format.ts";
import {
  audioTaskSchema,
  type Billing,
  billingSchema,
  TASK_STATUSES,
  type TaskStatus,
} from "../contract/audio-task.ts";
import { isTaskId } from "../contract/wire.ts";
import { cleanServiceText } from "./service-text.ts";

/** A task as the service tells it; where snake_case ends. A part that broke the contract is `null`. */
export interface ObservedTask {
  readonly taskId: string;
  readonly status: TaskStatus;
  readonly billing: Billing | null;
  readonly audioSeconds: number | null;
  readonly output: {
    readonly format: OutputFormat;
    readonly sampleRateHz: SampleRate;
    readonly durationSeconds: number;
  } | null;
  /** Cleaned, at most 500 code points. */
  readonly error: { readonly code: string; readonly message: string } | null;
  /** What in the answer broke the contract without making it useless; for the log. */
  readonly oddities: readonly string[];
}

const ERROR_CODE_MAX_CODE_POINTS = 100;
const ODDITIES_MAX = 10;

/** Without an id and a status there is no task to speak of. */
const core = z.object({ id: z.string().refine(isTaskId), status: z.enum(TASK_STATUSES) });
const parts = {
  output: z.object({
    output: z.object({
      format: z.enum(OUTPUT_FORMATS),
      sample_rate: z.literal(SAMPLE_RATES),
      duration: z.number().positive(),
    }),
  }),
  usage: z.object({ usage: z.object({ audio_seconds: z.number().positive() }) }),
  billing: z.object({ billing: billingSchema }),
  error: z.object({ error: z.object({ code: z.string(), message: z.string() }) }),
};

function readBilling(body: unknown, status: TaskStatus): Billing | null {
  const billing = parts.billing.safeParse(body).data?.billing;
  if (billing === undefined) return null;
  if (status !== "succeeded") return billing;
  const { charged_credits: charged, refunded_credits: refunded, reserved_credits: reserved } = billing;
  return charged !== null && refunded !== null && charged + refunded === reserved ? billing : null;
}

/** Zod's words about known fields; a path is ours, an unknown key never gets here. */
function findOddities(body: unknown): string[] {
  const issues = audioTaskSchema.safeParse(body).error?.issues ?? [];
  return issues
    .slice(0, ODDITIES_MAX)
    .map((issue) => cleanServiceText(`${issue.path.join(".")}: ${issue.message}`, 200));
}

/**
 * Reads contract 2.2. Id and a known status are the core; any other part that breaks the contract becomes
 * `null` and an oddity, because paid audio must not be lost over a bad field.
 *
 * @param clean applied to the texts that the service wrote
 * @returns `null` when the body is not a task at all
 */
export function readTask(body: unknown, clean: (text: string) => string): ObservedTask | null {
  const known = core.safeParse(body).data;
  if (known === undefined) return null;
  const output = parts.output.safeParse(body).data?.output;
  const error = parts.error.safeParse(body).data?.error;
  return {
    taskId: known.id,
    status: known.status,
    billing: readBilling(body, known.status),
    audioSeconds: parts.usage.safeParse(body).data?.usage.audio_seconds ?? null,
    output:
      output === undefined
        ? null
        : { format: output.format, sampleRateHz: output.sample_rate, durationSeconds: output.duration },
    error:
      error === undefined
        ? null
        : {
            code: cleanServiceText(clean(error.code), ERROR_CODE_MAX_CODE_POINTS) || "unknown",
            message: clean(error.message),
          },
    oddities: findOddities(body),
  };
}
