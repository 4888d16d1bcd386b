/** Loads the code that the model of rounds judges: the sources, or a copy of them with a planted fault. */
import { pathToFileURL } from "node:url";

/** @param folder a copy of `src`, so its modules have the types of the originals */
export async function loadWorkflowCode(folder: string) {
  const load = <Module>(path: string): Promise<Module> =>
    import(/* @vite-ignore */ pathToFileURL(`${folder}/${path}`).href);
  const [errors, causes, database, engine, folders, identity, narrations, parts, requests] =
    await Promise.all([
      load<typeof import("../../../src/errors.ts")>("errors.ts"),
      load<typeof import("../../../src/api/network-error.ts")>("api/network-error.ts"),
      load<typeof import("../../../src/ledger/database.ts")>("ledger/database.ts"),
      load<typeof import("../../../src/ledger/sqlite/sqlite-engine.ts")>("ledger/sqlite/sqlite-engine.ts"),
      load<typeof import("../../../src/files/output-folder.ts")>("files/output-folder.ts"),
      load<typeof import("../../../src/ledger/identity.ts")>("ledger/identity.ts"),
      load<typeof import("../../../src/narration/narrations.ts")>("narration/narrations.ts"),
      load<typeof import("../../../src/narration/parts.ts")>("narration/parts.ts"),
      load<typeof import("../../../src/requests/requests.ts")>("requests/requests.ts"),
    ]);
  return {
    ...errors,
    ...causes,
    ...database,
    ...engine,
    ...folders,
    ...identity,
    ...narrations,
    ...parts,
    ...requests,
  };
}

export type WorkflowCode = Awaited<ReturnType<typeof loadWorkflowCode>>;
