/** Parses an AudioTask from an answer, leniently, so that paid audio is not lost over a bad field. */
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
import { cleanServiceText, type KeyGuard, sanitizeReason } from "./service-text.ts";

/** A task as the service reported it, in camelCase. A field that breaks the contract is `null`. */
export interface ObservedTask {
  readonly taskId: string;
  readonly status: TaskStatus;
  /**
   * The cleaned text of a status that the contract does not define. Absent if the contract defines the status. `""` if
   * the status is not a string or must not be shown.
   */
  readonly unknownStatus?: string;
  /** `null` if `billing` is missing or unreadable in the answer. */
  readonly billing: Billing | null;
  readonly audioSeconds: number | null;
  readonly output: {
    readonly format: OutputFormat;
    readonly sampleRateHz: SampleRate;
    readonly durationSeconds: number;
  } | null;
  /** The message is cleaned and has at most 500 code points; `""` if withheld. */
  readonly error: { readonly code: string; readonly message: string } | null;
  /** Violations of the contract that leave the answer usable. They are logged. */
  readonly deviations: readonly string[];
}

const MAX_DEVIATIONS = 10;

/** Accepts only single words as codes. A sentence in place of a code may be a prompt injection. */
const ERROR_CODE = /^[a-z0-9_]{1,64}$/;

/** An id with blanks is a text, and results show it: it must not read like an instruction. */
const idSchema = z
  .string()
  .refine(isTaskId)
  .refine((id) => !/\s/.test(id) || sanitizeReason(id) !== "");

/**
 * The minimum that counts as a task: an id together with a status or with `object: "audio.generation"`. The status may
 * be unknown.
 */
const core = z.union([
  z.object({ id: idSchema, status: z.string() }),
  z.object({ id: idSchema, object: z.literal("audio.generation") }),
]);
const knownStatus = z.enum(TASK_STATUSES);
/** The fields that are read one by one, so that a bad one loses no other. */
const fieldsSchema = z.object({
  status: z.unknown().optional(),
  billing: billingSchema.nullable().catch(null),
  usage: z.object({ audio_seconds: z.number().positive() }).nullable().catch(null),
  output: z
    .object({
      format: z.enum(OUTPUT_FORMATS),
      sample_rate: z.literal(SAMPLE_RATES),
      duration: z.number().positive(),
    })
    .transform(({ format, sample_rate: sampleRateHz, duration: durationSeconds }) => {
      return { format, sampleRateHz, durationSeconds };
    })
    .nullable()
    .catch(null),
  error: z.object({ code: z.string(), message: z.string() }).nullable().catch(null),
});

/** Formats Zod's issues. Paths are safe to show, because they name known fields only. */
function findDeviations(body: unknown): string[] {
  const issues = audioTaskSchema.safeParse(body).error?.issues ?? [];
  return issues
    .slice(0, MAX_DEVIATIONS)
    .map((issue) => cleanServiceText(`${issue.path.join(".")}: ${issue.message}`, 200));
}

/**
 * Converts the service's status to a status that this program knows. Returns `queued` for an unknown or missing status.
 * No other function converts statuses.
 */
function parseStatus(stated: unknown, guard: KeyGuard): Pick<ObservedTask, "status" | "unknownStatus"> {
  const known = knownStatus.safeParse(stated);
  if (known.success) return { status: known.data };
  const unknownStatus = typeof stated === "string" ? guard.sanitizeAndRedactReason(stated) : "";
  return { status: "queued", unknownStatus };
}

/**
 * Parses a task (docs/contract.md, AudioTask). Requires only an id together with a status or `object`, because paid
 * audio must not be lost over a bad field. An unknown or missing status becomes `queued`, so that the task is polled
 * again. Any other field that breaks the contract becomes `null`. Reports the first {@link MAX_DEVIATIONS} violations
 * in `deviations`.
 *
 * @param guard cleans the service's texts
 * @returns `null` if the body is not a task
 */
export function parseTask(body: unknown, guard: KeyGuard): ObservedTask | null {
  const id = core.safeParse(body).data?.id;
  if (id === undefined) return null;
  const { status, billing, usage, output, error } = fieldsSchema.parse(body);
  return {
    taskId: id,
    ...parseStatus(status, guard),
    billing,
    audioSeconds: usage?.audio_seconds ?? null,
    output,
    error: error && {
      code: ERROR_CODE.test(error.code) && !guard.containsKey(error.code) ? error.code : "unknown",
      message: guard.sanitizeAndRedactReason(error.message),
    },
    deviations: findDeviations(body),
  };
}
