/** Completes arguments of prompts and of resource templates: voices, languages, ids of tasks and narrations. */
import type { CompleteRequestParams, CompleteResult } from "@modelcontextprotocol/server";
import { LANGUAGES, VOICE_IDS } from "../contract/voices.ts";
import type { Requests } from "../requests/requests.ts";
import type { ServerDeps } from "./run-tool.ts";

/** Maximum number of values that the protocol allows in one answer. */
const MAX_VALUES = 100;

/** Lists ids of a local ledger. Completion never creates a ledger or connects to a database. */
async function listIds(
  deps: ServerDeps,
  list: (requests: Requests) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  try {
    const requests = await deps.openLocalRequests();
    return requests === null ? [] : await list(requests);
  } catch (cause) {
    deps.log.debug(`ids could not be completed: ${String(cause)}`);
    return [];
  }
}

async function listCandidates(argument: string, deps: ServerDeps): Promise<readonly string[]> {
  switch (argument) {
    case "voice":
      return VOICE_IDS;
    case "language":
      return LANGUAGES;
    case "task_id":
      return await listIds(deps, (requests) => requests.listNewestTaskIds(MAX_VALUES));
    case "narration_id":
      return await listIds(deps, async () => {
        const rows = await (await deps.toolDeps.narrations()).list(null, MAX_VALUES);
        return rows.map(({ narration }) => narration.id);
      });
    default:
      return [];
  }
}

/**
 * Returns the values that start with the typed text. If there are none, returns the values that contain the typed text.
 */
export async function complete(
  { argument }: CompleteRequestParams,
  deps: ServerDeps,
): Promise<CompleteResult> {
  const candidates = await listCandidates(argument.name, deps);
  const typed = argument.value.toLowerCase();
  const beginning = candidates.filter((value) => value.toLowerCase().startsWith(typed));
  const matches =
    beginning.length > 0 ? beginning : candidates.filter((value) => value.toLowerCase().includes(typed));
  const values = matches.slice(0, MAX_VALUES);
  return { completion: { values, total: matches.length, hasMore: matches.length > values.length } };
}
