/** The name of the tasks extension, and the methods that it adds (docs/reference-requests.md, Calls as tasks). */

export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

export const TASK_METHODS = ["tasks/get", "tasks/update", "tasks/cancel"] as const;
export type TaskMethod = (typeof TASK_METHODS)[number];
