/** The name of the tasks extension, and the methods that it adds (docs/reference-mcp-tasks.md). */

export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

export const MCP_TASK_METHODS = ["tasks/get", "tasks/update", "tasks/cancel"] as const;
export type McpTaskMethod = (typeof MCP_TASK_METHODS)[number];
