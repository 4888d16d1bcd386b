/** The tool `download_audio`: its schema, its words and its handler. */
import { pathToFileURL } from "node:url";
import { z } from "zod";
import { MIME_TYPES } from "../contract/audio-format.ts";
import { AudioError } from "../errors.ts";
import type { Generation } from "../generation/generation.ts";
import type { SavedAudio } from "../generation/task-view.ts";
import { PLAYER_META } from "./player-uri.ts";
import { fileName, taskId } from "./shared-fields.ts";
import { renderTask, taskOutput } from "./task-output.ts";
import { defineTool, type InlineAudio } from "./tool.ts";

/** More would crowd everything else out of a model's context. */
const MOST_INLINE_BYTES = 1024 * 1024;

const DELIVERIES = ["path", "inline", "both"] as const;

async function inlineAudio(
  generation: Generation,
  ids: { taskId: string | null; idempotencyKey: string | null },
  audio: SavedAudio,
): Promise<InlineAudio> {
  if (audio.sizeBytes > MOST_INLINE_BYTES) {
    throw new AudioError(
      "too_large_to_inline",
      `The audio is ${audio.sizeBytes} bytes; at most ${MOST_INLINE_BYTES} go into a result. It is saved as ${audio.path}.`,
      { taskId: ids.taskId ?? undefined, idempotencyKey: ids.idempotencyKey ?? undefined },
    );
  }
  const bytes = await generation.bytesOf(audio, MOST_INLINE_BYTES);
  return { uri: pathToFileURL(audio.path).href, mimeType: MIME_TYPES[audio.format], bytes };
}

export const downloadAudio = defineTool({
  name: "download_audio",
  title: "Download audio",
  description:
    "Saves a finished task's audio in the output folder (again, or under another name) and returns its path. Free.",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  input: z.strictObject({
    task_id: taskId,
    file_name: fileName.optional(),
    deliver: z
      .enum(DELIVERIES, `must be one of ${DELIVERIES.join(", ")}`)
      .meta({
        description:
          "Default path. inline and both add base64, at most 1 MiB: most clients drop it, or fill the context with it",
      })
      .optional(),
  }),
  meta: PLAYER_META,
  output: taskOutput,
  async handle(args, deps, call) {
    const generation = await deps.generation();
    const view = await generation.download(
      { taskId: args.task_id, fileName: args.file_name ?? null },
      { ...call, windowMs: deps.defaultWaitSeconds * 1000 },
    );
    const result = renderTask(view, deps);
    if ((args.deliver ?? "path") === "path" || view.audio === null) return result;
    return { ...result, inline: await inlineAudio(generation, view, view.audio) };
  },
});
