/** The use case behind pieces of a task's audio, for players that ask for one after the other. */
import { MIME_TYPES } from "../../contract/audio-format.ts";
import { isTaskId } from "../../contract/wire.ts";
import type { Piece, PieceReader } from "../../files/read-piece.ts";
import type { GenerationDeps } from "../deps.ts";
import { formatOf } from "../saved-files.ts";
import { type AudioBytes, unknownResource } from "./read-audio.ts";

/**
 * A piece of the newest saved copy that is intact, sound ones first.
 *
 * @param taskId as it stands in the address, decoded
 * @throws AudioError `not_found`
 */
export async function readPiece(
  deps: GenerationDeps,
  reader: PieceReader,
  taskId: string,
  piece: Piece,
): Promise<AudioBytes> {
  if (!isTaskId(taskId)) throw unknownResource();
  for (const record of await deps.ledger.ofTask(taskId)) {
    const files = record.files.toReversed().sort((a, b) => Number(b.isSound) - Number(a.isSound));
    for (const file of files) {
      const bytes = await reader.read(file, deps.folder.root, piece);
      const mimeType = file.isSound ? MIME_TYPES[formatOf(record).format] : "application/octet-stream";
      if (bytes !== null) return { bytes, mimeType };
    }
  }
  throw unknownResource();
}
