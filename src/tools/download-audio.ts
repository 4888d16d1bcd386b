/** The tool `download_audio`: saves the audio of a finished task again, or under another name. */
import { z } from "zod";
import { PLAYER_META } from "./player-uri.ts";
import { fileNameSchema, optional, taskIdSchema } from "./shared-fields.ts";
import { renderTask, taskOutput } from "./task-output.ts";
import { chooseNextWait, defineTool } from "./tool.ts";

const DELIVERIES = ["path", "inline", "both"] as const;

export const downloadAudioTool = defineTool({
  name: "download_audio",
  title: "Download audio",
  description:
    "Saves a finished task's audio in the output folder (again, or under another name) and returns its path. Free.",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  input: z.strictObject({
    task_id: taskIdSchema,
    file_name: optional(fileNameSchema, "As in generate_audio"),
    deliver: optional(
      z.enum(DELIVERIES, `must be one of ${DELIVERIES.join(", ")}`),
      "path (default), inline or both: with base64, which most clients drop or put into the context",
    ),
  }),
  meta: PLAYER_META,
  output: taskOutput,
  async run(args, deps, call) {
    const requests = await deps.requests();
    const view = await requests.download(
      { taskIdOrHandle: args.task_id, fileName: args.file_name ?? null },
      { ...call, waitMs: deps.defaultWaitSeconds * 1000 },
    );
    const result = renderTask(view, { ...deps, waitSeconds: chooseNextWait(undefined, deps) });
    const { audio } = view;
    if ((args.deliver ?? "path") === "path" || audio === null || result.link === undefined) return result;
    const read = (maxBytes: number): Promise<Uint8Array> => requests.readVerifiedBytes(audio, maxBytes);
    return { ...result, inline: { ...result.link, read } };
  },
});
