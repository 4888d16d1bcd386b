/** The names of the extensions for tasks and skills, and the methods that they add (docs/reference-mcp-tasks.md). */

export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

export const MCP_TASK_METHODS = ["tasks/get", "tasks/update", "tasks/cancel"] as const;
export type McpTaskMethod = (typeof MCP_TASK_METHODS)[number];

export const SKILLS_EXTENSION = "io.modelcontextprotocol/skills";

export const SKILLS_METHODS = ["skills/list", "skills/get"] as const;
export type SkillsMethod = (typeof SKILLS_METHODS)[number];
