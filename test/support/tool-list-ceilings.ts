/** Maximum bytes of a `tools/list`, because every conversation pays for them in tokens. */

/** The tools for single tasks, without `narrate`. */
export const MAX_SINGLE_TASK_TOOLS_BYTES = 8200;

/** All tools. */
export const MAX_TOOL_LIST_BYTES = 10_800;
