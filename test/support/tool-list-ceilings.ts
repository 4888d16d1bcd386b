/** Maximum bytes of a `tools/list`, because every conversation pays for them in tokens. */

/** The maximum for the tools of single tasks, without `narrate`. */
export const MAX_SINGLE_TASK_TOOLS_BYTES = 8200;

/** The maximum of characters that a model sees of all tools and the instructions: no output schemas, no annotations. */
export const MAX_SEEN_CHARACTERS = 8000;

/** The maximum for all tools. */
export const MAX_TOOL_LIST_BYTES = 10_800;
