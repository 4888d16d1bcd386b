/** Types of the workflow and of the function that builds it. */
import type { Config } from "../config/config.ts";
import type { ServiceAccess } from "../config/service-address.ts";
import type { Log } from "../log.ts";
import type { Narrations } from "../narration/narrations.ts";
import type { Requests } from "../requests/requests.ts";

/** Builds the workflow. Loads the code of the workflow on demand, so that a start does not wait for the code. */
export type Compose = (config: Config, service: ServiceAccess, log: Log) => Promise<Workflow>;

/** Everything that tools use: single requests, and narrations made of them. */
export interface Workflow {
  readonly requests: Requests;
  /** Loads the code of narrations on first use. */
  narrations(): Promise<Narrations>;
  close(): Promise<void>;
}
