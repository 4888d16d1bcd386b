/** Parses what tools return. The schemas accept only what the tools promise. */
import { pathToFileURL } from "node:url";
import { z } from "zod";
import { TASK_STATUSES } from "../../src/contract/audio-task.ts";

/** Parses an omitted field as `null`. A `null` in the message is refused. */
export const optionalAsNull = <T extends z.ZodType>(schema: T) =>
  schema.optional().transform((value) => value ?? null);

export const taskOutput = z
  .strictObject({
    /** The task id, or the request handle (`req-…`) while there is no task id. */
    task_id: z.string().min(1),
    status: z.enum(["waiting", ...TASK_STATUSES]),
    message: z.string().min(1),
    take: optionalAsNull(z.int()),
    voice: optionalAsNull(z.string()),
    audio_references: z.int().optional(),
    /** Only `get_task` returns the key and the hash of the file. */
    idempotency_key: optionalAsNull(z.string()),
    replayed: z.boolean(),
    billing: optionalAsNull(
      z.strictObject({
        reserved_credits: z.literal(150),
        charged_credits: optionalAsNull(z.int()),
        refunded_credits: optionalAsNull(z.int()),
      }),
    ),
    audio_seconds: optionalAsNull(z.number()),
    audio: optionalAsNull(
      z.strictObject({
        path: z.string(),
        mime_type: z.string(),
        format: z.string(),
        sample_rate: z.int(),
        size_bytes: z.int(),
        sha256: optionalAsNull(z.string()),
      }),
    ),
    error: optionalAsNull(z.strictObject({ code: z.string(), message: z.string().optional() })),
    next_step: z.string().min(1),
  })
  .transform((task) => ({
    ...task,
    audio: task.audio && {
      ...task.audio,
      uri: pathToFileURL(task.audio.path).href,
      duration_seconds: task.audio_seconds,
    },
  }));
export type TaskOutput = z.infer<typeof taskOutput>;

const contentBlock = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  data: z.string().optional(),
  mimeType: z.string().optional(),
  uri: z.string().optional(),
  size: z.number().optional(),
  name: z.string().optional(),
  resource: z.looseObject({ uri: z.string(), blob: z.string().optional() }).optional(),
});

const errorFacts = z.strictObject({
  code: z.string(),
  retryable: z.boolean(),
  http_status: optionalAsNull(z.int()),
  retry_after_seconds: optionalAsNull(z.number()),
  task_id: optionalAsNull(z.string()),
  idempotency_key: optionalAsNull(z.string()),
});

export const toolResult = z.looseObject({
  isError: z.boolean().optional(),
  content: z.array(contentBlock),
  structuredContent: z.record(z.string(), z.unknown()).optional(),
  _meta: z.looseObject({ "audio-generation-mcp/error": errorFacts.optional() }).optional(),
});
export type ToolOutcome = z.infer<typeof toolResult>;

/** Returns the task of a successful result. Throws if the result is an error. */
export function taskOf(outcome: ToolOutcome): TaskOutput {
  if (outcome.isError === true) throw new Error(`an error came back: ${resultTextOf(outcome)}`);
  return taskOutput.parse(outcome.structuredContent);
}

/** Returns the facts of an error result. Throws if the result is not an error. */
export function errorOf(outcome: ToolOutcome): z.infer<typeof errorFacts> {
  const facts = outcome._meta?.["audio-generation-mcp/error"];
  if (outcome.isError !== true || facts === undefined) {
    throw new Error(`no error came back: ${JSON.stringify(outcome).slice(0, 500)}`);
  }
  if (outcome.structuredContent !== undefined) throw new Error("an error carries structured content");
  return facts;
}

export function resultTextOf(outcome: ToolOutcome): string {
  return outcome.content.map((block) => block.text ?? "").join("\n");
}

/** Generates audio by a call that must succeed, and returns its task. */
export async function generate(
  client: { call(name: string, args: Record<string, unknown>): Promise<ToolOutcome> },
  args: Record<string, unknown>,
): Promise<TaskOutput> {
  return taskOf(await client.call("generate_audio", args));
}
