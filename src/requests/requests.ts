/** The entry point of single requests: builds one object with a method for each use case. */
import type { AudioError } from "../errors.ts";
import { createPieceReader, type Piece, type RecordedFile } from "../files/read-piece.ts";
import { readSaved } from "../files/saved-copies.ts";
import type { SavedFile } from "../files/saved-file.ts";
import type { McpTask } from "../ledger/rules/mcp-task.ts";
import type { Spending } from "../limits/limits.ts";
import type { Call } from "./call.ts";
import type { RequestDeps } from "./deps.ts";
import { readCalibration } from "./estimate-calibration.ts";
import { JobRunner } from "./job/job-runner.ts";
import type { McpTaskOperations, StatusOrView } from "./mcp-tasks/mcp-task-status.ts";
import type { McpTasks } from "./mcp-tasks/mcp-tasks.ts";
import { findNearDuplicate } from "./records/near-duplicate.ts";
import { hasOtherPronunciation } from "./records/other-pronunciation.ts";
import { toRequestHandle } from "./records/request-handle.ts";
import type { RequestView, SavedAudio } from "./records/request-view.ts";
import { Resumer } from "./resumer.ts";
import { type DownloadRequest, downloadTask } from "./use-cases/download-task.ts";
import { type GenerateRequest, prepareRequest, runRequest } from "./use-cases/generate.ts";
import {
  awaitSentPart,
  findSavedPart,
  generatePart,
  type PartOperations,
  selectPartRecord,
} from "./use-cases/generate-part.ts";
import {
  type ListedRequest,
  listRecordedRequests,
  type RequestListQuery,
} from "./use-cases/list-recorded-requests.ts";
import { type ListedFile, listNewestSaved, listNewestTaskIds } from "./use-cases/newest-saved.ts";
import { queryTask } from "./use-cases/query-task.ts";
import {
  type AudioBytes,
  narrationFileGoneError,
  readAudio,
  readFile,
  readNarrationPiece,
} from "./use-cases/read-audio.ts";
import { readTaskPiece } from "./use-cases/read-task-piece.ts";

/**
 * The use cases of single requests. Methods with a {@link Call} throw {@link AudioError}, or the reason of the call's
 * signal. `generate`, `loadMcpTaskOperations`, `getTask`, `download` and `listRequests` also resume unfinished tasks.
 */
export interface Requests {
  generate(request: GenerateRequest, call: Call): Promise<RequestView>;
  /**
   * Returns the operations on MCP tasks, for clients that accept an MCP task as the answer to a call. The module with
   * these operations is loaded on first use.
   */
  loadMcpTaskOperations(): Promise<{
    start(request: GenerateRequest, call: Call): Promise<StatusOrView<RequestView>>;
    /** Finds an MCP task of this API key, whether of a request or of a narration; `null` if there is none. */
    findMcpTask(mcpTaskId: string): Promise<McpTask | null>;
    readonly mcpTaskOperations: McpTaskOperations<RequestView>;
  }>;
  getTask(taskIdOrHandle: string, call: Call): Promise<RequestView>;
  download(request: DownloadRequest, call: Call): Promise<RequestView>;
  listRequests(query: RequestListQuery): Promise<ListedRequest[]>;
  /** Returns the credits that were spent according to the ledger. Does not ask the service. */
  sumSpending(): Promise<Spending>;
  readonly partOperations: PartOperations;
  /**
   * Lists saved files for clients that list resources without a user's request. Resumes no task and does not ask
   * the service.
   */
  listNewestSaved(limit: number): Promise<ListedFile[]>;
  listNewestTaskIds(limit: number): Promise<string[]>;
  readResource(uri: string): Promise<AudioBytes>;
  /** Reads and verifies a file of a narration. Derives the format from the extension of the file. */
  readNarrationFile(file: SavedFile): Promise<AudioBytes>;
  /** Reads a piece of a task's saved audio; verifies the file once, not for each piece. */
  readTaskPiece(taskId: string, piece: Piece): Promise<AudioBytes>;
  readNarrationPiece(file: SavedFile, piece: Piece): Promise<AudioBytes>;
  /** Reads a piece of the captions or chapters saved beside a narration's file. */
  readCompanionPiece(saved: RecordedFile, piece: Piece): Promise<Uint8Array>;
  /** Reads and verifies saved audio; throws `too_large` above `maxBytes`. */
  readVerifiedBytes(audio: SavedAudio, maxBytes: number): Promise<Uint8Array>;
  close(): Promise<void>;
}

/**
 * Creates the use cases of single requests, which share one runner of jobs. Sends nothing and resumes no task before
 * the first call. `close` stops all jobs, and then closes the limits, the service client and the ledger's store in
 * `deps`.
 */
export function createRequests(deps: RequestDeps): Requests {
  const jobs = new JobRunner(deps);
  const resumer = new Resumer(deps, jobs);
  const pieceReader = createPieceReader();
  jobs.setConcurrencySlotsFullListener(() => resumer.schedule());
  let loadedMcpTasks: Promise<McpTasks> | undefined;
  return {
    generate: async (request, call) => {
      resumer.schedule();
      const prepared = prepareRequest(request);
      const duplicate = await findNearDuplicate(deps, prepared);
      if (duplicate === null) return await runRequest(deps, jobs, prepared, request, call);
      const view = await queryTask(
        deps,
        jobs,
        duplicate.record.taskId ?? toRequestHandle(duplicate.record),
        call,
      );
      return { ...view, notes: [...view.notes, duplicate.note] };
    },
    loadMcpTaskOperations: async () => {
      resumer.schedule();
      loadedMcpTasks ??= import("./mcp-tasks/mcp-tasks.ts").then((module) => new module.McpTasks(deps, jobs));
      const mcpTaskOperations = await loadedMcpTasks;
      return {
        start: (request, call) => mcpTaskOperations.start(prepareRequest(request), request, call),
        findMcpTask: (mcpTaskId) => deps.ledger.store.mcpTasks.find(mcpTaskId),
        mcpTaskOperations,
      };
    },
    getTask: (taskIdOrHandle, call) => {
      resumer.schedule();
      return queryTask(deps, jobs, taskIdOrHandle, call);
    },
    download: (request, call) => {
      resumer.schedule();
      return downloadTask(deps, jobs, request, call);
    },
    listRequests: (query) => {
      resumer.schedule();
      return listRecordedRequests(deps, query);
    },
    sumSpending: () => deps.limits.sumSpending(),
    partOperations: {
      findRecord: (request) => selectPartRecord(deps, request),
      findSaved: (request) => findSavedPart(deps, request),
      generate: (request, call) => generatePart(deps, jobs, request, call),
      hasOtherPronunciation: (request) => hasOtherPronunciation(deps, request),
      awaitSent: (request, call) => awaitSentPart(deps, jobs, request, call),
      readCalibration: (voice) => readCalibration(deps, voice),
    },
    listNewestSaved: (limit) => listNewestSaved(deps, limit),
    listNewestTaskIds: (limit) => listNewestTaskIds(deps, limit),
    readResource: (uri) => readAudio(deps, uri),
    readNarrationFile: (file) => readFile(deps, file),
    readTaskPiece: (taskId, piece) => readTaskPiece(deps, pieceReader, taskId, piece),
    readNarrationPiece: (file, piece) => readNarrationPiece(deps, pieceReader, file, piece),
    readCompanionPiece: async (saved, piece) => {
      const bytes = await pieceReader.read(saved, deps.folder.root, piece);
      if (bytes !== null) return bytes;
      throw narrationFileGoneError(saved.path);
    },
    readVerifiedBytes: (audio, maxBytes) => readSaved(audio, deps.folder.root, maxBytes),
    close: async () => {
      (await loadedMcpTasks)?.close();
      await resumer.close();
      await jobs.close();
      await deps.limits.close();
      await deps.service.close();
      await deps.ledger.store.close();
    },
  };
}
