/** The workflow that tools work with, and the function that builds it. */
import type { Config, ServiceAddress } from "../config/config.ts";
import type { Generation } from "../generation/generation.ts";
import type { Log } from "../log.ts";
import type { Narrations } from "../narration/narrations.ts";

/** Builds the workflow; loaded late, because a start must not wait for it. */
export type Compose = (config: Config, service: ServiceAddress, log: Log) => Promise<Workflow>;

/** All that tools work with: single requests, and narrations that are made of them. */
export interface Workflow {
  readonly generation: Generation;
  /** Loaded when the first one is asked for. */
  narrations(): Promise<Narrations>;
  close(): Promise<void>;
}
