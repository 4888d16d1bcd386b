/** Derives the id of a narration from its plan, the service's base URL, and the API key under which it is first given. */
import { createHash } from "node:crypto";
import { canonicalizeInput } from "../requests/canonical-input.ts";
import { buildPartInput } from "./parts.ts";
import type { StoredPlan } from "./planning/stored-plan.ts";
import { CUTTING_RULES_VERSION } from "./text/plan-types.ts";

const ID_PREFIX = "nar_";
const ID_DIGITS = 32;
const NARRATION_ID = /^nar_[0-9a-f]{32}$/;

/**
 * Returns whether a text has the form of a narration id: `nar_` and 32 hexadecimal digits. The narration need not
 * exist.
 */
export const isNarrationId = (text: string): boolean => NARRATION_ID.test(text);

function hashTexts(texts: Iterable<string>): string {
  const hash = createHash("sha256");
  for (const text of texts) hash.update(`${Buffer.byteLength(text)}:`).update(text);
  return hash.digest("hex");
}

/**
 * Returns the hash of a plan: of its text, settings, pauses and file layout. The cost limit, the requested file name and
 * the chosen takes do not affect it.
 */
export function derivePlanHash(baseUrl: string, plan: StoredPlan): string {
  const texts = [baseUrl, `${CUTTING_RULES_VERSION}`, plan.fileLayout];
  for (const part of plan.parts) {
    texts.push(
      canonicalizeInput(buildPartInput(plan, part)),
      `${part.pauseAfterSeconds} ${part.chapterIndex}`,
    );
    if (part.startSeconds !== undefined) texts.push(`at ${part.startSeconds}`);
  }
  for (const [index, { fileName }] of plan.chapters.entries()) {
    if (fileName !== undefined) texts.push(`${index} ${fileName}`);
  }
  return hashTexts(texts);
}

/** Returns the id of a new narration. Another API key that gives the same text later finds it by the plan's hash. */
export const deriveNarrationId = (planHash: string, apiKeyId: string): string =>
  `${ID_PREFIX}${hashTexts([planHash, apiKeyId]).slice(0, ID_DIGITS)}`;
