/** The resource side: one listed template, and reads of audio that the ledger knows. */
import {
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type ResourceTemplateType,
} from "@modelcontextprotocol/server";
import { asAudioError, remedyFor } from "./error-result.ts";
import type { ServerDeps } from "./run-tool.ts";

export const RESOURCE_TEMPLATES: ResourceTemplateType[] = [
  {
    uriTemplate: "audio://tasks/{task_id}/content",
    name: "task-audio",
    title: "Audio of a finished task",
    description:
      "The saved audio of a task in the ledger, up to 7 MiB. Also readable by its file:// address.",
  },
];

/** Bytes as a blob; every failure is a protocol error that says what to do. */
export async function readResource(uri: string, deps: ServerDeps): Promise<ReadResourceResult> {
  try {
    const generation = await deps.tools.generation();
    const { bytes, mimeType } = await generation.readAudio(uri);
    return { contents: [{ uri, mimeType, blob: Buffer.from(bytes).toString("base64") }] };
  } catch (thrown) {
    const error = asAudioError(thrown, {}, []);
    const text = `${error.code}: ${error.message} What to do: ${remedyFor(error)}`;
    const code =
      error.code === "not_found" ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;
    throw new ProtocolError(code, deps.redact(text), { code: error.code, uri: deps.redact(uri) });
  }
}
