/** Reads an AudioTask from an answer, leniently where money is concerned. */
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
import { cleanServiceText, type KeyGuard } from "./service-text.ts";

/** A task as the service states it; snake_case ends here. A part that broke the contract is `null`. */
export interface ObservedTask {
  readonly taskId: string;
  readonly status: TaskStatus;
  /** The cleaned text that the service sent in place of a valid status, `""` if withheld; absent for a valid status. */
  readonly unknownStatus?: string;
  /** `null`: the service stated no bill that can be read. */
  readonly billing: Billing | null;
  readonly audioSeconds: number | null;
  readonly output: {
    readonly format: OutputFormat;
    readonly sampleRateHz: SampleRate;
    readonly durationSeconds: number;
  } | null;
  /** The message is cleaned, at most 500 code points, and `""` where it is withheld. */
  readonly error: { readonly code: string; readonly message: string } | null;
  /** Harmless contract violations in the answer, for the log. */
  readonly oddities: readonly string[];
}

const ODDITIES_MAX = 10;

/** A code is a word for programs; a sentence in its place is somebody speaking to the reader. */
const ERROR_CODE = /^[a-z0-9_]{1,64}$/;

/** An answer is a task if it has an id and any status, even an unknown one. */
const core = z.union([
  z.object({ id: z.string().refine(isTaskId), status: z.string() }),
  z.object({ id: z.string().refine(isTaskId), object: z.literal("audio.generation") }),
]);
const statusField = z.object({ status: z.unknown() });
const knownStatus = z.enum(TASK_STATUSES);
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

/** Zod's words about known fields; a path is ours, an unknown key never gets here. */
function findOddities(body: unknown): string[] {
  const issues = audioTaskSchema.safeParse(body).error?.issues ?? [];
  return issues
    .slice(0, ODDITIES_MAX)
    .map((issue) => cleanServiceText(`${issue.path.join(".")}: ${issue.message}`, 200));
}

/** The only place where words of the wire become a status. */
function statusIn(body: unknown, guard: KeyGuard): Pick<ObservedTask, "status" | "unknownStatus"> {
  const said = statusField.safeParse(body).data?.status;
  const known = knownStatus.safeParse(said);
  if (known.success) return { status: known.data };
  return { status: "queued", unknownStatus: typeof said === "string" ? guard.reason(said) : "" };
}

/**
 * Reads a task (docs/contract.md, AudioTask). The id is what counts: a status that is not known means `queued`, so
 * that the task is asked for again, and any other part that breaks the contract becomes `null`. Each is reported as an
 * oddity, because paid audio must not be lost over a bad field.
 *
 * @param guard for the texts that the service wrote
 * @returns `null` when the body is not a task at all
 */
export function readTask(body: unknown, guard: KeyGuard): ObservedTask | null {
  const id = core.safeParse(body).data?.id;
  if (id === undefined) return null;
  const output = parts.output.safeParse(body).data?.output;
  const error = parts.error.safeParse(body).data?.error;
  return {
    taskId: id,
    ...statusIn(body, guard),
    billing: parts.billing.safeParse(body).data?.billing ?? null,
    audioSeconds: parts.usage.safeParse(body).data?.usage.audio_seconds ?? null,
    output:
      output === undefined
        ? null
        : { format: output.format, sampleRateHz: output.sample_rate, durationSeconds: output.duration },
    error:
      error === undefined
        ? null
        : {
            code: ERROR_CODE.test(error.code) && !guard.holdsKey(error.code) ? error.code : "unknown",
            message: guard.reason(error.message),
          },
    oddities: findOddities(body),
  };
}
