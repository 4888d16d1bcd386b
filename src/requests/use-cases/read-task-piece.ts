/** Reads a task's saved audio piece by piece, for players. */
import { MIME_TYPES } from "../../contract/audio-format.ts";
import { isTaskId } from "../../contract/wire.ts";
import type { Piece, PieceReader } from "../../files/read-piece.ts";
import type { RequestDeps } from "../deps.ts";
import { parseStoredFormat } from "../records/stored-input.ts";
import { type AudioBytes, unknownResourceError } from "./read-audio.ts";

/**
 * Reads a piece of the newest unchanged copy; prefers copies that match their format.
 *
 * @param taskId the task id, already percent-decoded
 * @throws AudioError `not_found`
 */
export async function readTaskPiece(
  deps: RequestDeps,
  reader: PieceReader,
  taskId: string,
  piece: Piece,
): Promise<AudioBytes> {
  if (!isTaskId(taskId)) throw unknownResourceError();
  for (const record of await deps.ledger.findByTask(taskId)) {
    const files = record.files.toReversed().sort((a, b) => Number(b.matchesFormat) - Number(a.matchesFormat));
    for (const file of files) {
      const bytes = await reader.read(file, deps.folder.root, piece);
      const mimeType = file.matchesFormat
        ? MIME_TYPES[parseStoredFormat(record).format]
        : "application/octet-stream";
      if (bytes !== null) return { bytes, mimeType };
    }
  }
  throw unknownResourceError();
}
