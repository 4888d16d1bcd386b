/** The list of tools, in the order in which clients show them. */
import { downloadAudio } from "./download-audio.ts";
import { generateAudio } from "./generate-audio.ts";
import { getTask } from "./get-task.ts";
import { listTasks } from "./list-tasks.ts";
import { listVoices } from "./list-voices.ts";
import { narrate } from "./narrate.ts";
import type { Tool } from "./tool.ts";

export const TOOLS: readonly Tool[] = [generateAudio, getTask, downloadAudio, listVoices, listTasks, narrate];
