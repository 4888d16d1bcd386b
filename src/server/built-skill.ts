/**
 * Holds the skill `skills/narration` as the skills extension publishes it. The build replaces this module with
 * the built skill.
 */
import type { Skill } from "@modelcontextprotocol/server/ext/skills";

export interface BuiltSkill {
  readonly entry: Skill;
  readonly text: string;
}

/**
 * Returns the built skill.
 *
 * @throws when run from the sources, which have no built skill
 */
export function readBuiltSkill(): BuiltSkill {
  throw new Error("the skill is made by the build");
}
