/** Owns what every route is given to answer with; holds no behaviour. */
import type { AccountDirectory } from "./accounts.ts";
import type { AudioShelf } from "./audio-shelf.ts";
import type { Faults } from "./faults.ts";
import type { Generator } from "./generator.ts";
import type { Ledger } from "./ledger.ts";
import type { AccountLimits } from "./limit-windows.ts";

export interface Site {
  readonly directory: AccountDirectory;
  readonly faults: Faults;
  readonly limits: AccountLimits;
  readonly ledger: Ledger;
  readonly shelf: AudioShelf;
  readonly generator: Generator;
  /** Known once it listens, before the first request. */
  readonly baseUrl: () => string;
  /** Told of errors that the client must not read. */
  readonly onFault: (error: unknown) => void;
}
