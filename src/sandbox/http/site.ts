/** Dependencies of every route. */
import type { AccountDirectory } from "../accounts/directory.ts";
import type { AccountLimits } from "../accounts/limit-windows.ts";
import type { Faults } from "../faults.ts";
import type { Generator } from "../tasks/generator.ts";
import type { TaskRegistry } from "../tasks/task-registry.ts";

export interface Site {
  readonly directory: AccountDirectory;
  readonly faults: Faults;
  readonly limits: AccountLimits;
  readonly tasks: TaskRegistry;
  readonly generator: Generator;
  /** Known once it listens, before the first request. */
  readonly baseUrl: () => string;
  /** Receives errors that the client must not read. */
  readonly onFault: (error: unknown) => void;
}
