/** The name of the skills extension, and the methods that it adds. */

export const SKILLS_EXTENSION = "io.modelcontextprotocol/skills";

export const SKILLS_METHODS = ["skills/list", "skills/get"] as const;
export type SkillsMethod = (typeof SKILLS_METHODS)[number];
