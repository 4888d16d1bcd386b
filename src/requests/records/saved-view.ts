/** Builds the view of a record with saved audio, with notes about the file. */
import type { SavedFile } from "../../files/saved-file.ts";
import type { RequestRecord } from "../../ledger/record.ts";
import type { SaveOptions } from "../../ledger/rules/save-options.ts";
import type { RequestDeps } from "../deps.ts";
import { explainAddedNumber } from "../file-names/file-name-conflicts.ts";
import { describeIdenticalTake } from "./identical-takes.ts";
import { buildRequestView, type RequestView, type ViewFacts } from "./request-view.ts";

/**
 * Builds the view of the record, with notes about the file.
 *
 * @param saveOptions the file name that this call requests. If it requests none, the name from an earlier call is used
 */
export async function buildSavedView(
  deps: Pick<RequestDeps, "clock" | "folder" | "ledger">,
  record: RequestRecord,
  facts: ViewFacts & { readonly file: SavedFile },
  saveOptions: SaveOptions = { fileName: null, mayReplace: false },
): Promise<RequestView> {
  const view = buildRequestView(record, facts);
  const notes = await Promise.all([
    explainAddedNumber(deps, record, facts.file, saveOptions),
    describeIdenticalTake(deps, record, facts.file),
  ]);
  return { ...view, notes: [...view.notes, ...notes.filter((note) => note !== null)] };
}
