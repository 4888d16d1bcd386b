/** The entry of single requests: one object with a method for each use case. */
import type { AudioInput } from "../contract/audio-input.ts";
import { createPieceReader, type Piece } from "../files/read-piece.ts";
import { readSaved } from "../files/saved-copies.ts";
import { readSpending } from "../ledger/bills.ts";
import { deriveRequestFingerprint } from "../ledger/identity.ts";
import { findRequestsByFingerprint } from "../ledger/request-rows.ts";
import type { FileRow } from "../ledger/schema.ts";
import { deleteDeadWishes, deleteOldRefusals } from "../ledger/sweep.ts";
import { deleteOwnWishes, withdrawWish } from "../ledger/wishes.ts";
import { Attendance } from "./attend.ts";
import type { Call } from "./call.ts";
import { canonicalizeInput } from "./canonical-input.ts";
import type { RequestDeps } from "./deps.ts";
import { type DownloadRequest, downloadTask } from "./download-task.ts";
import { RequestDriver } from "./driver.ts";
import { generate, type RequestContext } from "./generate.ts";
import {
  listNewestSaved,
  listNewestTaskIds,
  listRecordedRequests,
  type RequestListQuery,
} from "./list-requests.ts";
import { getTask } from "./look-up-task.ts";
import type { GenerateRequest } from "./prepare-request.ts";
import { readAudio, readPieceOfNarration, readTaskPiece, readWhole } from "./read-audio.ts";
import { type SavedAudio, tellCharge } from "./request-view.ts";
import { findSavedAudio } from "./saved-audio.ts";

/** How long the program's end waits for its wishes to be deleted; they do not stand after it anyway. */
const WISHES_END_MS = 300;

/**
 * Creates the use cases of single requests, which share one driver. Sends nothing and resumes nothing before the first
 * call. Methods with a {@link Call} throw AudioError, or the reason of the call's signal.
 */
export function createRequests(deps: RequestDeps) {
  const driver = new RequestDriver(deps);
  const context: RequestContext = { deps, driver, attendance: new Attendance(deps, driver) };
  const pieceReader = createPieceReader();
  let isSwept = false;
  /** Resumes accepted tasks whose audio was never saved, and deletes rows that are of no use any more. */
  const resume = (): void => {
    driver.scheduleResume();
    if (isSwept) return;
    isSwept = true;
    Promise.all([deleteOldRefusals(deps.ledger), deleteDeadWishes(deps.ledger)]).catch((cause: unknown) =>
      deps.log.debug(`old rows could not be deleted: ${String(cause)}`),
    );
  };
  const findRows = (input: AudioInput, take: number) => {
    const { baseUrl } = deps.ledger.identity;
    const fingerprint = deriveRequestFingerprint(baseUrl, canonicalizeInput(input), take);
    return findRequestsByFingerprint(deps.ledger, fingerprint);
  };
  const requests = {
    generate: async (request: GenerateRequest, call: Call) => {
      resume();
      return await tellCharge(deps, await generate(context, request, call));
    },
    /**
     * Takes back what a call that was answered as an MCP task has asked for.
     *
     * @returns false if the service may have it already: then it is completed and saved
     */
    withdraw: async (wishId: string) => {
      const isWithdrawn = await withdrawWish(deps.ledger, wishId);
      driver.wake();
      return isWithdrawn;
    },
    getTask: async (taskIdOrHandle: string, call: Call) => {
      resume();
      return await tellCharge(deps, await getTask(context, taskIdOrHandle, call));
    },
    download: async (request: DownloadRequest, call: Call) => {
      resume();
      return await tellCharge(deps, await downloadTask(context, request, call));
    },
    listRequests: (query: RequestListQuery) => {
      resume();
      return listRecordedRequests(deps, query, driver);
    },
    /** Sums the credits that were spent according to the ledger. Does not ask the service. */
    sumSpending: () => readSpending(deps.ledger),
    /** Finds the saved audio of an input's first take on this machine; `null` if there is none. Asks the service nothing. */
    findSavedPath: async (input: AudioInput) => {
      return (await findSavedAudio(deps, await findRows(input, 1), null))?.path ?? null;
    },
    /** Says whether the service has an input. `unknown`: it may have it, or the ledger has it in other words. */
    readSendState: async (input: AudioInput, take: number): Promise<"unsent" | "unknown" | "accepted"> => {
      const rows = await findRows(input, take);
      if (rows.some(({ task_id }) => task_id !== null)) return "accepted";
      return rows.length > 0 && rows.every(({ maybe }) => maybe === 0) ? "unsent" : "unknown";
    },
    /** Lists saved files without resuming anything, because clients ask for resources without a user's request. */
    listNewestSaved: (limit: number) => listNewestSaved(deps, limit),
    listNewestTaskIds: (limit: number) => listNewestTaskIds(deps, limit),
    /** Reads a saved file by its `file://` address, or a task's by `audio://tasks/{task_id}/content`. */
    readResource: (uri: string) => readAudio(deps, uri),
    readNarrationFile: (file: FileRow) => readWhole(deps, file),
    /** Reads a piece of a task's saved audio; verifies the file once, not for each piece. */
    readTaskPiece: (taskId: string, piece: Piece) => readTaskPiece(deps, pieceReader, taskId, piece),
    readNarrationPiece: (file: FileRow, piece: Piece) => readPieceOfNarration(deps, pieceReader, file, piece),
    /** Reads and verifies saved audio; throws `too_large` above `maxBytes`. */
    readVerifiedBytes: (audio: SavedAudio, maxBytes: number) => readSaved(audio, deps.folder.root, maxBytes),
    /** Stops all work, and then closes the service client and the ledger of `deps`. */
    close: async () => {
      await driver.close();
      await Promise.race([
        deleteOwnWishes(deps.ledger).catch(() => undefined),
        new Promise((resolve) => setTimeout(resolve, WISHES_END_MS)),
      ]);
      await deps.service.close();
      await deps.ledger.database.close();
    },
  };
  return { requests, driver };
}

export type Requests = ReturnType<typeof createRequests>["requests"];
