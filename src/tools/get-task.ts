/** The tool `get_task`: returns the status of a task. With `wait_seconds` it first waits for the end of the task. */
import { z } from "zod";
import { optional, taskIdSchema, waitSecondsSchema } from "./shared-fields.ts";
import { renderTask, taskOutput } from "./task-output.ts";
import { chooseNextWait, defineTool } from "./tool.ts";

export const getTaskTool = defineTool({
  name: "get_task",
  title: "Get a task",
  description:
    "How a task stands: status, cost, saved file. With wait_seconds it waits for the end and the file. Free. waiting: not accepted yet.",
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  input: z.strictObject({
    task_id: taskIdSchema,
    wait_seconds: optional(waitSecondsSchema, "As in generate_audio, default 0"),
  }),
  output: taskOutput,
  async run(args, deps, call) {
    const requests = await deps.requests();
    const waitMs = (args.wait_seconds ?? 0) * 1000;
    return renderTask(await requests.getTask(args.task_id, { ...call, waitMs }), {
      isFull: true,
      takeFirstSuccess: deps.takeFirstSuccess,
      waitSeconds: chooseNextWait(args.wait_seconds, deps),
    });
  },
});
