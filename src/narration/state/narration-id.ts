/** Derives the id of a narration from its text, settings, pauses and file layout, and from the service's base URL. */
import { createHash } from "node:crypto";
import { canonicalizeInput } from "../../requests/canonical-input.ts";
import { CUTTING_RULES_VERSION } from "../text/plan-types.ts";
import type { StoredPlan } from "./narration-state.ts";
import { buildPartInput } from "./part-input.ts";

const ID_PREFIX = "nar_";
const ID_DIGITS = 32;
const NARRATION_ID = /^nar_[0-9a-f]{32}$/;

/**
 * Returns whether a text has the form of a narration id: `nar_` and 32 hexadecimal digits. The narration need not
 * exist.
 */
export const isNarrationId = (text: string): boolean => NARRATION_ID.test(text);

/**
 * Returns the id of a plan's narration. The cost limit, the requested file name and the chosen takes do not affect the
 * id.
 */
export function deriveNarrationId(baseUrl: string, plan: StoredPlan): string {
  const hash = createHash("sha256");
  const add = (text: string): void => void hash.update(`${Buffer.byteLength(text)}:`).update(text);
  add(baseUrl);
  add(`${CUTTING_RULES_VERSION}`);
  add(plan.fileLayout);
  for (const part of plan.parts) {
    add(canonicalizeInput(buildPartInput(plan, part)));
    add(`${part.pauseAfterSeconds} ${part.chapterIndex}`);
    if (part.startSeconds !== undefined) add(`at ${part.startSeconds}`);
  }
  for (const [index, { fileName }] of plan.chapters.entries()) {
    if (fileName !== undefined) add(`${index} ${fileName}`);
  }
  return `${ID_PREFIX}${hash.digest("hex").slice(0, ID_DIGITS)}`;
}
