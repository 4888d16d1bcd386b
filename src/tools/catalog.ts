/** The list of tools, in the order in which clients show them. */
import { downloadAudioTool } from "./download-audio.ts";
import { generateAudioTool } from "./generate-audio.ts";
import { getTaskTool } from "./get-task.ts";
import { listTasksTool } from "./list-tasks.ts";
import { listVoicesTool } from "./list-voices.ts";
import { narrateTool } from "./narrate.ts";
import type { Tool } from "./tool.ts";

export const TOOLS: readonly Tool[] = [
  generateAudioTool,
  getTaskTool,
  downloadAudioTool,
  listVoicesTool,
  listTasksTool,
  narrateTool,
];

/** Finds a tool by its name. */
export const findTool = (name: string): Tool | undefined => TOOLS.find((tool) => tool.name === name);
