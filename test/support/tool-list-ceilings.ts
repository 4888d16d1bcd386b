/** Maximum bytes of a `tools/list`, because every conversation pays for them in tokens. */

/** The tools for single tasks, without `narrate`. */
export const SINGLE_TASK_TOOLS_MAX_BYTES = 8200;

/** All tools. */
export const TOOL_LIST_MAX_BYTES = 10_800;
