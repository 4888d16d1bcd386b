/** The shapes of a task and of an error (docs/contract.md, AudioTask and Errors). */
import { expect } from "vitest";
import { z } from "zod";
import { OUTPUT_FORMATS, SAMPLE_RATES } from "../../../src/contract/audio-format.ts";
import { TASK_STATUSES } from "../../../src/contract/audio-task.ts";
import type { RuleBook } from "../rule-book.ts";
import { answeredTaskOf, jsonOf, type ServiceClient, SHORT_INPUT } from "../service-client.ts";

const credits = z.int().min(0).max(150).nullable();

/** A task exactly as rule 2.2 describes it: with all fields and no others. The client's own schema is more lenient. */
const strictTask = z.strictObject({
  id: z.string().min(1),
  object: z.literal("audio.generation"),
  model: z.literal("audio-1.0"),
  status: z.enum(TASK_STATUSES),
  billing: z.strictObject({
    reserved_credits: z.literal(150),
    charged_credits: credits,
    refunded_credits: credits,
  }),
  output: z
    .strictObject({
      url: z.url(),
      format: z.enum(OUTPUT_FORMATS),
      sample_rate: z.literal(SAMPLE_RATES),
      duration: z.number().positive(),
    })
    .nullable(),
  usage: z.strictObject({ audio_seconds: z.number().positive() }).nullable(),
  error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
});

const strictError = z.strictObject({
  error: z.strictObject({ code: z.string().min(1), message: z.string() }),
});

export function taskRules(book: RuleBook, client: ServiceClient): void {
  book.rule("2.2", "the answer to a creation has exactly the stated fields", async () => {
    await client.mainTask();
    strictTask.parse(jsonOf(await client.create(SHORT_INPUT, { key: client.mainKey })));
  });
  book.rule("2.2", "the answer to a query has exactly the stated fields", async () => {
    const { id } = await client.mainTask();
    strictTask.parse(jsonOf(await client.query(id)));
  });
  book.rule("2.2", "a succeeded task has output, usage, a settled bill and no error", async () => {
    const { id } = await client.mainTask();
    const task = answeredTaskOf(await client.query(id));
    expect(task.output).not.toBeNull();
    expect(task.usage?.audio_seconds).toBeGreaterThan(0);
    expect((task.billing.charged_credits ?? 0) + (task.billing.refunded_credits ?? 0)).toBe(150);
    expect(task.error).toBeNull();
  });
  book.rule("2.2", "the output has the format and rate that were asked for", async () => {
    const { output } = await client.mainTask();
    expect(output).toMatchObject({ format: "mp3", sample_rate: 24000 });
  });
  book.rule("2.3", "an error is an object with a code and a message", async () => {
    strictError.parse(jsonOf(await client.create({})));
    strictError.parse(jsonOf(await client.query("aud_no_such_task")));
    strictError.parse(jsonOf(await client.query("aud_no_such_task", { apiKey: null })));
  });
}
