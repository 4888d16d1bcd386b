/** Completes arguments of prompts and of resource templates: voices, languages, ids of tasks and narrations. */
import type { CompleteRequestParams, CompleteResult } from "@modelcontextprotocol/server";
import { LANGUAGES, VOICE_IDS } from "../contract/voices.ts";
import type { ServerDeps } from "./run-tool.ts";

/** Maximum number of values that the protocol allows in one answer. */
const MAX_VALUES = 100;

async function listTaskIds(deps: ServerDeps): Promise<readonly string[]> {
  try {
    const requests = await deps.openLocalRequests();
    return requests === null ? [] : await requests.listNewestTaskIds(MAX_VALUES);
  } catch (cause) {
    deps.log.debug(`task ids could not be completed: ${String(cause)}`);
    return [];
  }
}

async function listNarrationIds(deps: ServerDeps): Promise<readonly string[]> {
  try {
    // Return no ids if there is no local ledger, because completion must not create a ledger or connect to a database.
    if ((await deps.openLocalRequests()) === null) return [];
    const rows = await (await deps.toolDeps.narrations()).list(null, MAX_VALUES);
    return rows.map(({ narration }) => narration.id);
  } catch (cause) {
    deps.log.debug(`narration ids could not be completed: ${String(cause)}`);
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
      return await listTaskIds(deps);
    case "narration_id":
      return await listNarrationIds(deps);
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
