/** The conversation that every client has, and the facts that its model must see in each result. */
import { join } from "node:path";

export const PROMPT = "Good morning, and welcome.";
const LATER_PROMPT = "And good night, later on.";
const FAILING_PROMPT = "This one fails at the service.";
const FILE_NAME = "welcome";

/** Names one step of the conversation. */
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

/** With `down` the service accepts no further requests. With `failing` its next two tasks fail and are refunded. */
export type Fault = "down" | "failing";

export interface Step {
  readonly scene: Scene;
  readonly tool: "generate_audio" | "get_task" | "download_audio" | "list_tasks";
  /** @param earlier the text that the model has seen so far */
  args(earlier: string): Record<string, unknown>;
  /** The fault that the service gets before this step. */
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
  // The schema allows this id, so the client passes the call on to the server.
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
  { scene: "failure", tool: "generate_audio", args: () => ({ prompt: FAILING_PROMPT }), fault: "failing" },
  {
    scene: "waiting",
    tool: "generate_audio",
    args: () => ({ prompt: LATER_PROMPT, wait_seconds: 1 }),
    fault: "down",
  },
  { scene: "list", tool: "list_tasks", args: () => ({}) },
  // This step is the last one, because some programs end when they refuse `null`.
  {
    scene: "null",
    tool: "generate_audio",
    args: () => ({ prompt: PROMPT, file_name: FILE_NAME, voice: null, speed: null }),
  },
];

/** Returns the path of the first step's audio below the output folder. The server's environment sets that folder. */
export const savedPath = (folder: string): string => join(folder, `${FILE_NAME}.mp3`);

/** Matches the text form of a result, and not its structured form. */
const TEXT_FORM_PATTERNS: Record<Scene, RegExp> = {
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

/** Matches the structured form of a result, and not its text form. For an error, that is the facts in `_meta`. */
const STRUCTURED_FORM_PATTERNS: Record<Scene, RegExp> = {
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

/** Facts that a model needs to continue. The patterns match both forms of a result. */
const NEEDED_FACTS: Record<Scene, ReadonlyArray<readonly [fact: string, pattern: RegExp]>> = {
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
    ["its text", new RegExp(LATER_PROMPT)],
  ],
};

/** Which parts of a result the client passed on to its model. */
export interface ModelView {
  readonly hasText: boolean;
  readonly hasStructured: boolean;
  /** The link to the saved file. */
  readonly hasLink: boolean;
  /** The bytes of the audio, as base64. */
  readonly hasAudioBytes: boolean;
  /** The path of a file to which the client itself has written the audio. */
  readonly hasOwnFile: boolean;
  readonly missingFacts: readonly string[];
}

/** Returns the text of a result without JSON's escapes, because many clients write results as JSON inside JSON. */
export function unescapedText(shownResult: unknown): string {
  const text = typeof shownResult === "string" ? shownResult : JSON.stringify(shownResult);
  return text.replaceAll(/\\+n/g, "\n").replaceAll(/\\+"/g, '"');
}

export function readModelView(scene: Scene, shownResult: unknown): ModelView {
  const text = unescapedText(shownResult);
  return {
    hasText: TEXT_FORM_PATTERNS[scene].test(text),
    hasStructured: STRUCTURED_FORM_PATTERNS[scene].test(text),
    hasLink: /file:\/\/\/[^"\s]*\.mp3/.test(text),
    hasAudioBytes: /[A-Za-z0-9+/]{1000}/.test(text),
    hasOwnFile: /audio\/mpeg[^"]*saved to \//.test(text),
    missingFacts: NEEDED_FACTS[scene].flatMap(([fact, pattern]) => (pattern.test(text) ? [] : [fact])),
  };
}
