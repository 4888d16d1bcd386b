/** The most bytes that the tools may take in a `tools/list`, because every conversation pays for them in tokens. */

/** Of the tools for single tasks, without `narrate`. */
export const SINGLE_TASK_TOOLS_MAX_BYTES = 8200;

/** Of all tools. */
export const TOOL_LIST_MAX_BYTES = 10_800;
