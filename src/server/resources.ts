/** Serves the resources: the list of the newest saved files, the templates, and the audio that the ledger knows. */
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import {
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type Resource,
  ResourceNotFoundError,
  type ResourceTemplateType,
} from "@modelcontextprotocol/server";
import { mimeTypeForPath } from "../contract/audio-format.ts";
import type { ListedFile } from "../requests/list-requests.ts";
import { PLAYER_URI } from "../tools/player-uri.ts";
import { runWithCallTimeout } from "./call-deadline.ts";
import { renderProtocolError, toAudioError } from "./error-result.ts";
import { readPieceAt } from "./pieces.ts";
import type { ServerDeps } from "./run-tool.ts";
import { readSkill, SKILL_SCHEME } from "./skills.ts";

export const RESOURCE_TEMPLATES: ResourceTemplateType[] = [
  {
    uriTemplate: "audio://tasks/{task_id}/content{?offset,length}",
    name: "task-audio",
    title: "Audio of a finished task",
    description:
      "The saved audio of a task in the ledger, up to 7 MiB; with offset or length a piece of it, of at most 512 KiB. Also readable by its file:// address.",
  },
  {
    uriTemplate: "audio://narrations/{narration_id}",
    name: "narration-parts",
    title: "Parts of a narration",
    description:
      "How each part of a narration stands: task, take, credits, seconds, when it begins, when a missing one is likely, and how its text begins. With ?heard={n}, missing parts from n on are made first. Captions of a saved part are at …/parts/{n}/captions.",

    mimeType: "text/markdown",
  },
  {
    uriTemplate: "audio://narrations/{narration_id}/files/{n}{?offset,length}",
    name: "narration-audio",
    title: "Audio of a narration",
    description:
      "A saved file of a narration by its number, from 1; whole or in pieces, as a task's audio. Its captions are at …/files/{n}/captions, its chapters at …/files/{n}/chapters.",
  },
];

const MAX_LISTED = 50;

/**
 * Time limit of the list. It is short, because clients request the list without being asked by the user, and some
 * clients show nothing until they have the list.
 */
const LIST_TIMEOUT_SECONDS = 10;
const READ_SECONDS = 30;

/** Lists the files of tasks and narrations, newest first. */
async function listNewestFiles(deps: ServerDeps): Promise<ListedFile[]> {
  const requests = await deps.openLocalRequests();
  if (requests === null) return [];
  const rows = await (await deps.toolDeps.narrations()).list(null, MAX_LISTED);
  const joined = rows.flatMap(({ narration, files }) =>
    files.map(({ path, size_bytes, saved_at_ms, chapterTitle }) => ({
      path,
      name: basename(path),
      title: chapterTitle ?? narration.title,
      mimeType: mimeTypeForPath(path),
      sizeBytes: size_bytes,
      savedAtMs: saved_at_ms,
    })),
  );
  const newestFiles = [...(await requests.listNewestSaved(MAX_LISTED)), ...joined];
  return newestFiles.sort((a, b) => b.savedAtMs - a.savedAtMs).slice(0, MAX_LISTED);
}

/** Lists the newest saved files with the addresses that results link to. Returns an empty list after an error. */
export async function listResources(deps: ServerDeps, signal: AbortSignal): Promise<Resource[]> {
  try {
    const files = await runWithCallTimeout(LIST_TIMEOUT_SECONDS, signal, () => listNewestFiles(deps));
    return files.map(({ path, name, title, mimeType, sizeBytes }) => ({
      uri: pathToFileURL(path).href,
      name,
      ...(title === null ? {} : { title }),
      mimeType,
      size: sizeBytes,
    }));
  } catch (cause) {
    deps.log.debug(`saved files could not be listed: ${String(cause)}`);
    return [];
  }
}

const NARRATION_URI = /^audio:\/\/narrations\/([^/?#]+)(?:\?heard=(\d{1,6}))?$/;

async function readParts(
  uri: string,
  narrationId: string,
  heardNumber: string | undefined,
  deps: ServerDeps,
): Promise<ReadResourceResult> {
  const heardPart = heardNumber === undefined ? null : Math.max(0, Number(heardNumber) - 1);
  const parts = await (await deps.toolDeps.narrations()).lookAtParts(narrationId, heardPart);
  const { renderPartsTable } = await import("../narration/render-parts-table.ts");
  const text = deps.redact(renderPartsTable(parts));
  return { contents: [{ uri, mimeType: "text/markdown", text }] };
}

/** Reads the page that hosts show beside a result. Needs no settings and no ledger. */
async function readPlayer(): Promise<ReadResourceResult> {
  const { readPlayerPage } = await import("./player-page.ts");
  const mimeType = "text/html;profile=mcp-app";
  const _meta = { ui: { prefersBorder: true } };
  return { contents: [{ uri: PLAYER_URI, mimeType, text: readPlayerPage(), _meta }] };
}

async function readSaved(uri: string, deps: ServerDeps): Promise<ReadResourceResult> {
  const [, narrationId, heardNumber] = NARRATION_URI.exec(uri) ?? [];
  if (narrationId !== undefined) return await readParts(uri, narrationId, heardNumber, deps);
  const { bytes, mimeType } =
    (await readPieceAt(uri, deps)) ?? (await (await deps.toolDeps.requests()).readResource(uri));
  return { contents: [{ uri, mimeType, blob: Buffer.from(bytes).toString("base64") }] };
}

/** Reads a resource. Every failure to read a saved file becomes a protocol error that says what to do. */
export async function readResource(
  uri: string,
  deps: ServerDeps,
  signal: AbortSignal,
): Promise<ReadResourceResult> {
  if (uri === PLAYER_URI) return await readPlayer();
  if (uri.startsWith(SKILL_SCHEME)) return readSkill(uri);
  try {
    return await runWithCallTimeout(READ_SECONDS, signal, () => readSaved(uri, deps));
  } catch (thrown) {
    if (thrown instanceof ProtocolError) throw thrown;
    const error = toAudioError(thrown, {}, []);
    const [text, shownUri] = [deps.redact(renderProtocolError(error)), deps.redact(uri)];
    if (error.code === "not_found") throw new ResourceNotFoundError(shownUri, text);
    throw new ProtocolError(ProtocolErrorCode.InternalError, text, { code: error.code, uri: shownUri });
  }
}
