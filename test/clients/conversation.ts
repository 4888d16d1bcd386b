/** The conversation of every client, and the facts that its model must see in each result. */
import { join } from "node:path";

export const PROMPT = "Good morning, and welcome.";
const LATER = "And good night, later on.";
const FAILING = "This one fails at the service.";
const FILE_NAME = "welcome";

export type Scene =
  | "success"
  | "error"
  | "audio"
  | "voice"
  | "argument"
  | "null"
  | "failure"
  | "waiting"
  | "list";

/** `down`: the service accepts no further requests. `failing`: the next two tasks fail, and are refunded. */
export type Fault = "down" | "failing";

export interface Step {
  readonly scene: Scene;
  readonly tool: "generate_audio" | "get_task" | "download_audio" | "list_tasks";
  /** @param earlier the text shown to the model so far */
  args(earlier: string): Record<string, unknown>;
  /** A change at the service before this step. */
  readonly fault?: Fault;
}

const TASK_ID = /aud_[0-9a-f]{24}/;
const HANDLE = /req-[0-9a-f]{32}/;

export const STEPS: readonly Step[] = [
  {
    scene: "success",
    tool: "generate_audio",
    args: () => ({ prompt: PROMPT, file_name: FILE_NAME }),
  },
  // No schema tells the client that this is wrong, so the call reaches the server.
  { scene: "error", tool: "get_task", args: () => ({ task_id: "aud_nowhere" }) },
  {
    scene: "audio",
    tool: "download_audio",
    args: (earlier) => ({ task_id: TASK_ID.exec(earlier)?.[0] ?? "aud_unseen", deliver: "both" }),
  },
  {
    scene: "voice",
    tool: "generate_audio",
    args: () => ({ prompt: PROMPT, file_name: FILE_NAME, voice: "Nobody" }),
  },
  {
    scene: "argument",
    tool: "generate_audio",
    args: () => ({ prompt: PROMPT, file_name: FILE_NAME, tempo: "slow" }),
  },
  { scene: "failure", tool: "generate_audio", args: () => ({ prompt: FAILING }), fault: "failing" },
  {
    scene: "waiting",
    tool: "generate_audio",
    args: () => ({ prompt: LATER, wait_seconds: 1 }),
    fault: "down",
  },
  { scene: "list", tool: "list_tasks", args: () => ({}) },
  // Last, because some programs end when they refuse it.
  {
    scene: "null",
    tool: "generate_audio",
    args: () => ({ prompt: PROMPT, file_name: FILE_NAME, voice: null, speed: null }),
  },
];

/** The possible folders of the first step's audio. They depend on whose environment the server got. */
export const savedIn = (folder: string): string => join(folder, `${FILE_NAME}.mp3`);

/** Facts that only the text form contains. */
const TEXT_FORM: Record<Scene, RegExp> = {
  success: /Saved \/\S+\.mp3/,
  error: /What to do:/,
  audio: /Saved \/\S+\.mp3/,
  voice: /What to do:/,
  argument: /What to do:/,
  null: /Saved \/\S+\.mp3/,
  failure: /What to do:/,
  waiting: /Next: Call get_task/,
  list: /aud_[0-9a-f]{24}: succeeded/,
};

/** Facts that only the structured form contains; for an error, the facts for programs in `_meta`. */
const STRUCTURED_FORM: Record<Scene, RegExp> = {
  success: /\bnext_step"?: ?"?\w/,
  error: /audio-generation-mcp\/error/,
  audio: /\bnext_step"?: ?"?\w/,
  voice: /audio-generation-mcp\/error/,
  argument: /audio-generation-mcp\/error/,
  null: /\bnext_step"?: ?"?\w/,
  failure: /audio-generation-mcp\/error/,
  waiting: /\bnext_step"?: ?"?\w/,
  list: /prompt_excerpt/,
};

/** Facts that a model needs to continue, in either form. */
const NEEDED: Record<Scene, ReadonlyArray<readonly [what: string, is: RegExp]>> = {
  success: [
    ["the task id", TASK_ID],
    ["the path", /\/welcome\.mp3/],
    ["the cost", /10 credits/],
  ],
  error: [
    ["the code", /not_found/],
    ["what to do", /list_tasks shows the known ones/],
  ],
  audio: [["the path", /\/welcome\.mp3/]],
  voice: [["the voices that there are", /voice must be one of [^.]*cedric_en_zh[^.]*got \W*Nobody/]],
  argument: [
    ["the arguments that there are", /unknown argument \W*tempo\W*; the known ones are prompt, voice/],
  ],
  null: [["the path", /\/welcome\.mp3/]],
  failure: [
    ["the code", /task_failed/],
    ["what it cost", /It cost nothing/],
  ],
  waiting: [
    ["the handle", HANDLE],
    ["the reason", /Not accepted by the service yet/],
    ["the call that waits for it", /Call get_task with task_id req-/],
  ],
  list: [
    ["the task that is saved", TASK_ID],
    ["the one that is not accepted", HANDLE],
    ["its next step", /download_audio with task_id req-/],
    ["its text", new RegExp(LATER)],
  ],
};

export interface ModelView {
  readonly text: boolean;
  readonly structured: boolean;
  readonly link: boolean;
  /** Bytes of audio, as base64. */
  readonly bytes: boolean;
  /** The client put the audio into a file of its own. */
  readonly ownFile: boolean;
  readonly missing: readonly string[];
}

/** Clients write results as JSON inside JSON, or in a notation of their own; seen are the words in any of them. */
export function wordsOf(shown: unknown): string {
  const text = typeof shown === "string" ? shown : JSON.stringify(shown);
  return text.replaceAll(/\\+n/g, "\n").replaceAll(/\\+"/g, '"');
}

export function readModelView(scene: Scene, shown: unknown): ModelView {
  const words = wordsOf(shown);
  return {
    text: TEXT_FORM[scene].test(words),
    structured: STRUCTURED_FORM[scene].test(words),
    link: /file:\/\/\/[^"\s]*\.mp3/.test(words),
    bytes: /[A-Za-z0-9+/]{1000}/.test(words),
    ownFile: /audio\/mpeg[^"]*saved to \//.test(words),
    missing: NEEDED[scene].flatMap(([what, is]) => (is.test(words) ? [] : [what])),
  };
}
