/** The skill `skills/narration` as the extension publishes it. The build puts the built skill in this module's place. */
import type { Skill } from "@modelcontextprotocol/server/ext/skills";

export interface BuiltSkill {
  readonly entry: Skill;
  readonly text: string;
}

/** @throws in the sources, which hold no built skill */
export function builtSkill(): BuiltSkill {
  throw new Error("the skill is made by the build");
}
