/** Loads the code that the model judges: the sources, or a copy of them with a planted fault. */
import { pathToFileURL } from "node:url";

type AdmissionModule = typeof import("../../../src/ledger/admission.ts");
type BeginModule = typeof import("../../../src/requests/begin.ts");
type BillsModule = typeof import("../../../src/ledger/bills.ts");
type DatabaseModule = typeof import("../../../src/ledger/database.ts");
type LedgerModule = typeof import("../../../src/ledger/ledger.ts");
type PrepareModule = typeof import("../../../src/requests/prepare-request.ts");
type RowsModule = typeof import("../../../src/ledger/request-rows.ts");
type SweepModule = typeof import("../../../src/ledger/sweep.ts");
type WishesModule = typeof import("../../../src/ledger/wishes.ts");

export interface CodeUnderTest {
  readonly admission: AdmissionModule;
  readonly begin: BeginModule;
  readonly bills: BillsModule;
  readonly database: DatabaseModule;
  readonly ledger: LedgerModule;
  readonly prepare: PrepareModule;
  readonly rows: RowsModule;
  readonly sweep: SweepModule;
  readonly wishes: WishesModule;
}

/**
 * Imports the modules of a folder of sources.
 *
 * @param folder a copy of `src`, so its modules have the types of the originals
 */
export async function loadCode(folder: string): Promise<CodeUnderTest> {
  const load = (path: string) => import(/* @vite-ignore */ pathToFileURL(`${folder}/${path}`).href);
  return {
    admission: await load("ledger/admission.ts"),
    begin: await load("requests/begin.ts"),
    bills: await load("ledger/bills.ts"),
    database: await load("ledger/database.ts"),
    ledger: await load("ledger/ledger.ts"),
    prepare: await load("requests/prepare-request.ts"),
    rows: await load("ledger/request-rows.ts"),
    sweep: await load("ledger/sweep.ts"),
    wishes: await load("ledger/wishes.ts"),
  };
}
