/** Inputs of the configuration, and the form of its faults. */
import type { Environment } from "../environment.ts";

/** One fault of the configuration, and how to correct it. */
export interface ConfigFault {
  readonly variable: string;
  readonly message: string;
  readonly fix: string;
}

/** The environment variables, and the system's facts that defaults and a leading `~` depend on. */
export interface Surroundings {
  readonly env: Environment;
  readonly platform: NodeJS.Platform;
  /** `null` if the system names no home folder. */
  readonly home: string | null;
}
