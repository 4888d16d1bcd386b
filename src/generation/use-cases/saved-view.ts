/** A record whose audio is saved, as a call sees it, with what is to be said of that audio. */
import type { SavedFile } from "../../files/saved-file.ts";
import type { TaskRecord } from "../../ledger/record.ts";
import type { GenerationDeps } from "../deps.ts";
import { type TaskView, type ViewFacts, viewOf } from "../task-view.ts";
import { type NameRequest, numberNote } from "./file-names.ts";
import { identicalNote } from "./identical-takes.ts";

/** @param wants the name that this call asked for; without it, the name that an earlier one did */
export async function viewOfSaved(
  deps: Pick<GenerationDeps, "clock" | "folder" | "ledger">,
  record: TaskRecord,
  facts: ViewFacts & { readonly file: SavedFile },
  wants: NameRequest = { fileName: null },
): Promise<TaskView> {
  const view = viewOf(record, facts);
  const notes = await Promise.all([
    numberNote(deps, record, facts.file, wants),
    identicalNote(deps, record, facts.file),
  ]);
  return { ...view, notes: [...view.notes, ...notes.filter((note) => note !== null)] };
}
