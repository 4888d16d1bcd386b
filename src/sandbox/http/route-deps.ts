/** Lists the dependencies that every route receives. */
import type { AccountRegistry } from "../accounts/account-registry.ts";
import type { AccountLimits } from "../accounts/limit-windows.ts";
import type { Faults } from "../faults.ts";
import type { TaskProcessor } from "../tasks/task-processor.ts";
import type { TaskRegistry } from "../tasks/task-registry.ts";

export interface RouteDeps {
  readonly accountRegistry: AccountRegistry;
  readonly faults: Faults;
  readonly limits: AccountLimits;
  readonly tasks: TaskRegistry;
  readonly processor: TaskProcessor;
  /** Returns the server's address, which is known only after the server has started to listen. */
  readonly baseUrl: () => string;
  /** Receives internal errors, which clients must not see. */
  readonly onInternalError: (error: unknown) => void;
}
