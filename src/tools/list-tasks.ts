/** The tool `list_tasks`: its schema, its words and its handler. */
import { z } from "zod";
import type { ListedTask } from "../generation/use-cases/list-tasks.ts";
import { RECORD_STATUSES } from "../ledger/record.ts";
import { defineTool } from "./tool.ts";

const limitRule = "must be a whole number from 1 to 100";
const DEFAULT_LIMIT = 20;

const output = z.strictObject({
  tasks: z.array(
    z.strictObject({
      task_id: z.string().nullable(),
      status: z.enum(RECORD_STATUSES),
      prompt_excerpt: z.string(),
      voice: z.string().nullable(),
      created_at: z.string(),
      credits: z.int().nullable(),
      audio_path: z.string().nullable(),
      next_step: z.string(),
    }),
  ),
  count: z.int(),
});

function nextStep(task: ListedTask): string {
  const { taskId, handle } = task;
  if (task.isGone) {
    return `The service did not know it any more. get_task with task_id ${taskId} asks once more, free; only another take would make it again, for credits.`;
  }
  if (task.audioPath === null && task.unsoundPath !== null) {
    return `Its bytes are not the format asked for; they are kept as ${task.unsoundPath}. download_audio with task_id ${taskId} fetches it again (free).`;
  }
  if (task.isTooLarge && task.audioPath === null) {
    return `Its audio is larger than this server takes, and stays at the service. download_audio with task_id ${taskId} says how to fetch it (free).`;
  }
  // With a task id the question is free, whosever it turns out to be.
  if (task.isOtherKey && task.audioPath === null && taskId === null) {
    return "Asked for under another API key. With this key, repeating the call may make a new task and cost credits: ask the user first.";
  }
  switch (task.status) {
    case "waiting":
      return "Never sent. Repeat the same generate_audio call to start it.";
    case "unresolved":
      return `Sent, answer unseen. download_audio with task_id ${handle} sends the very same request again under its key and saves the audio; it never pays twice.`;
    case "queued":
    case "processing":
      return `get_task with task_id ${taskId} and wait_seconds 45.`;
    case "succeeded":
      return task.audioPath === null ? `download_audio with task_id ${taskId} (free).` : "None; it is saved.";
    case "failed":
      return "Refunded. Repeat the same generate_audio call to try again.";
  }
}

/** One task as `list_tasks` and the `tasks` command show it. */
export function taskRow(task: ListedTask): z.infer<typeof output>["tasks"][number] {
  return {
    task_id: task.taskId,
    status: task.status,
    prompt_excerpt: task.promptExcerpt ?? "",
    voice: task.voice,
    created_at: new Date(task.createdAtMs).toISOString(),
    credits: task.credits,
    audio_path: task.audioPath,
    next_step: nextStep(task),
  };
}

export const listTasks = defineTool({
  name: "list_tasks",
  title: "List tasks",
  description:
    "Earlier requests, newest first: status, cost, file, next step. The way back to a lost task_id. Free. unresolved: sent, answer unseen.",
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  input: z.strictObject({
    status: z.enum(RECORD_STATUSES, `must be one of ${RECORD_STATUSES.join(", ")}`).optional(),
    limit: z.int(limitRule).min(1, limitRule).max(100, limitRule).meta({ default: DEFAULT_LIMIT }).optional(),
  }),
  output,
  async handle({ status, limit }, deps) {
    const generation = await deps.generation();
    const listed = await generation.listTasks({ status: status ?? null, limit: limit ?? DEFAULT_LIMIT });
    const tasks = listed.map(taskRow);
    const lines = tasks.map(
      (task) =>
        `${task.task_id ?? "(no id)"} ${task.status} ${JSON.stringify(task.prompt_excerpt)} ${task.audio_path ?? ""}`,
    );
    const text = tasks.length === 0 ? "The ledger holds no such task." : lines.join("\n");
    return { structured: { tasks, count: tasks.length }, text };
  },
});
