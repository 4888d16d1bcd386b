/** What every route is given to answer with. */
import type { AccountDirectory } from "../accounts/directory.ts";
import type { AccountLimits } from "../accounts/limit-windows.ts";
import type { Faults } from "../faults.ts";
import type { AudioShelf } from "../tasks/audio-shelf.ts";
import type { Books } from "../tasks/books.ts";
import type { Generator } from "../tasks/generator.ts";

export interface Site {
  readonly directory: AccountDirectory;
  readonly faults: Faults;
  readonly limits: AccountLimits;
  readonly books: Books;
  readonly shelf: AudioShelf;
  readonly generator: Generator;
  /** Known once it listens, before the first request. */
  readonly baseUrl: () => string;
  /** Told of errors that the client must not read. */
  readonly onFault: (error: unknown) => void;
}
