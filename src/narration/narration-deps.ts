/** Declares what narrations need: all that single requests need, their driver, the plans, and two settings. */
import type { CaptionFiles } from "../config/settings.ts";
import type { RequestDeps } from "../requests/deps.ts";
import type { RequestDriver } from "../requests/driver.ts";
import type { PlanDocuments } from "./plan-documents.ts";

export interface NarrationDeps extends RequestDeps {
  readonly driver: RequestDriver;
  readonly plans: PlanDocuments;
  readonly captionFiles: CaptionFiles;
  /** Whether a text contains the API key or a password from the settings. */
  readonly containsSecret: (text: string) => boolean;
}
