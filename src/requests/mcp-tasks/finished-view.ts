/** Builds the view of a finished MCP task. Fetches the audio first if another machine saved it. */
import { dirname } from "node:path";
import { Deadline } from "../../deadline.ts";
import { buildPartsPath } from "../../files/output-folder.ts";
import type { RequestRecord } from "../../ledger/record.ts";
import type { McpTask } from "../../ledger/rules/mcp-task.ts";
import type { RequestDeps } from "../deps.ts";
import type { JobRunner } from "../job/job-runner.ts";
import { waitForJob } from "../job/wait-for-job.ts";
import { findSaved } from "../records/find-saved.ts";
import { buildRequestView, type RequestView } from "../records/request-view.ts";
import { buildSavedView } from "../records/saved-view.ts";

/**
 * Maximum wait for a copy of audio that another machine saved. The copy usually arrives within this time. If it does
 * not, the view names the tool that fetches the audio.
 */
const FETCH_WITHIN_MS = 5000;

/**
 * Builds the view of a finished MCP task. If the audio was saved on this machine and is missing, somebody removed
 * the file, so the audio is not fetched again.
 *
 * @returns the view, without audio if this machine has no copy
 */
export async function fetchFinishedView(
  deps: RequestDeps,
  jobs: JobRunner,
  record: RequestRecord,
  saveOptions: McpTask["saveOptions"],
): Promise<RequestView> {
  const { fileName, replayed } = saveOptions;
  const file = await findSaved(deps, record, fileName);
  if (file?.matchesFormat === true)
    return await buildSavedView(deps, record, { replayed, file }, saveOptions);
  const { root } = deps.folder;
  const wasHere = record.files.some(({ path }) => [root, buildPartsPath(root)].includes(dirname(path)));
  if (wasHere) return buildRequestView(record, { replayed });
  const { job } = jobs.start(record, "resume");
  const deadline = new Deadline(deps.clock, FETCH_WITHIN_MS);
  const { signal } = new AbortController();
  const call = { signal, waitMs: FETCH_WITHIN_MS, onProgress: () => undefined, deadline };
  const end = await waitForJob(job, call);
  if (end?.kind !== "saved") return buildRequestView(record, { replayed });
  return await buildSavedView(deps, end.record, { replayed, file: end.file }, saveOptions);
}
