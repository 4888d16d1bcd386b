/** Where settings are read, and what can be wrong with them. */
import type { Environment } from "../environment.ts";

/** One thing wrong with the configuration, and what mends it. */
export interface ConfigFault {
  readonly variable: string;
  readonly message: string;
  readonly fix: string;
}

/** Where settings are read: the variables, and what defaults and a leading `~` stand on. */
export interface Surroundings {
  readonly env: Environment;
  readonly platform: NodeJS.Platform;
  /** `null`: this system names none. */
  readonly home: string | null;
}
