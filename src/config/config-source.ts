/** Defines the inputs of the configuration, and the shape of its issues. */
import type { Environment } from "../environment.ts";

/** One issue of the configuration, and how to correct it. */
export interface ConfigIssue {
  readonly variable: string;
  readonly message: string;
  readonly fix: string;
}

/** The environment variables, and the facts of the system that determine defaults and the meaning of `~`. */
export interface ConfigSource {
  readonly env: Environment;
  readonly platform: NodeJS.Platform;
  /** The user's home folder; null if the system does not state one. */
  readonly home: string | null;
}
