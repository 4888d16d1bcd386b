/** Serves the skill through the skills extension. The skill's text is the same as in the plugins. */
import { type ReadResourceResult, ResourceNotFoundError } from "@modelcontextprotocol/server";
import { readBuiltSkill } from "./built-skill.ts";
import type { SkillsMethod } from "./extensions.ts";

export const SKILL_SCHEME = "skill://";

/**
 * Answers a request of the skills extension.
 *
 * @throws ResourceNotFoundError for an unknown address, naming the skill that exists
 */
export function answerSkills(method: SkillsMethod, params: Readonly<Record<string, unknown>>) {
  if (method === "skills/list") return { skills: [readBuiltSkill().entry] };
  const uri = String(params["uri"] ?? "");
  assertServed(uri);
  return { skill: readBuiltSkill().entry };
}

/**
 * Reads the text of the skill.
 *
 * @throws ResourceNotFoundError for an unknown address, naming the skill that exists
 */
export function readSkill(uri: string): ReadResourceResult {
  assertServed(uri);
  return { contents: [{ uri, mimeType: "text/markdown", text: readBuiltSkill().text }] };
}

function assertServed(uri: string): void {
  const served = readBuiltSkill().entry.uri;
  if (uri !== served) throw new ResourceNotFoundError(uri, `There is no such skill; there is ${served}.`);
}
