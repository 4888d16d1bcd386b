/** Defines what a tool is: data, and a handler that returns data or throws. */
import type { ZodError, z } from "zod";
import { MAX_TIMER_MS } from "../clock.ts";
import { coerceArguments } from "../contract/coerce-arguments.ts";
import type { VoiceId } from "../contract/voices.ts";
import type { NarrationInput } from "../files/input-format.ts";
import type { Narrations } from "../narration/narrations.ts";
import type { Pronunciation } from "../pronunciation.ts";
import type { Call } from "../requests/call.ts";
import type { Requests } from "../requests/requests.ts";

/** Hints that clients read before a call. Every tool sets all four hints. They are published with the title. */
export interface Annotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

/** The dependencies of handlers. */
export interface ToolDeps {
  /** Throws `configuration_error`, which names each issue, if settings are invalid. Does not load the workflow. */
  assertConfigured(): void;
  /**
   * Returns the object with the use cases of single requests. Opens the workflow on first use. Throws
   * `configuration_error` while settings are invalid.
   */
  requests(): Promise<Requests>;
  /**
   * Does the same as {@link requests}, but returns `null` if there is no ledger yet or a setting is missing or invalid.
   */
  openExistingRequests(): Promise<Requests | null>;
  /** Does the same as {@link requests}, but returns the object with the use cases of narrations. */
  narrations(): Promise<Narrations>;
  /**
   * Reads a text file from the input folder.
   *
   * @throws AudioError `configuration_error` if no input folder is set, `invalid_request` naming the rule that
   *   the file breaks
   */
  readInput(file: string): Promise<NarrationInput>;
  /** Returns true only for the first result of this process that contains a saved file. */
  readonly takeFirstSuccess: () => boolean;
  readonly defaultVoice: VoiceId | null;
  /** The pronunciation rules of the settings. The rules of a call take precedence. */
  readonly pronunciations: readonly Pronunciation[];
  /** The user's notes about the voices. */
  readonly voiceNotes: ReadonlyMap<VoiceId, string>;
  readonly defaultWaitSeconds: number;
}

export interface ToolCall extends Pick<Call, "signal" | "onProgress" | "handle"> {
  /** What a call that is resumed as an MCP task has found to wait for: the id of a request or of a narration. */
  readonly target?: string | undefined;
}

/**
 * Returns how long a call waits for its result, in milliseconds. A call that is answered as an MCP task waits for the
 * end, because its client does not wait.
 *
 * @param waitSeconds the argument of the call
 */
export const computeWaitMs = (
  waitSeconds: number | undefined,
  { defaultWaitSeconds }: Pick<ToolDeps, "defaultWaitSeconds">,
  { handle }: Pick<ToolCall, "handle">,
): number => (handle === undefined ? (waitSeconds ?? defaultWaitSeconds) * 1000 : MAX_TIMER_MS);

/** The wait that a next step names if neither the call nor the settings have one. */
export const USUAL_WAIT_SECONDS = 45;

/** A shorter wait is a look at how it stands, and says nothing about what the client bears. */
const MIN_BORNE_WAIT_SECONDS = 10;

/**
 * Returns the wait that a next step names: one that this client has borne. A client that has given up a call has a
 * shorter default. A call returns as soon as its work ends, so a long wait costs nothing, and a short one costs calls.
 *
 * @param waitSeconds the argument of the call
 */
export function chooseNextWait(
  waitSeconds: number | undefined,
  { defaultWaitSeconds }: Pick<ToolDeps, "defaultWaitSeconds">,
): number {
  const longest = defaultWaitSeconds || USUAL_WAIT_SECONDS;
  return waitSeconds === undefined || waitSeconds < MIN_BORNE_WAIT_SECONDS
    ? longest
    : Math.min(waitSeconds, longest);
}

/** A saved file that a result links to. */
export interface LinkedFile {
  readonly path: string;
  readonly mimeType: string;
  readonly sizeBytes: number;
}

/** Audio that the result contains as bytes, because the caller requested it. */
interface InlineAudio extends LinkedFile {
  /**
   * Loads the bytes.
   *
   * @throws AudioError if the file is missing, has changed since it was saved, or is larger than `maxBytes`
   */
  read(maxBytes: number): Promise<Uint8Array>;
}

/**
 * A question about a number that was omitted from the arguments. Clients that can show a form ask the person for the
 * number.
 */
export interface Question {
  readonly argument: string;
  readonly message: string;
  /** Title of the form field. */
  readonly title: string;
  readonly minimum: number;
  readonly maximum: number;
  readonly suggested: number;
}

/**
 * What a call has done. `none`: it made nothing, and nothing goes on. `ended`: something was sent for it or made, and
 * this is its end. `goes_on`: the work continues, so this is not its end.
 */
export type CallWork = "none" | "ended" | "goes_on";

export interface ToolResult {
  readonly structured: Record<string, unknown>;
  /** The text form: one short block for people and models. */
  readonly text: string;
  readonly link?: LinkedFile;
  /** Data for pages that hosts show. Models do not see it. */
  readonly meta?: Readonly<Record<string, unknown>>;
  readonly inline?: InlineAudio;
  /** `none` if absent. */
  readonly work?: CallWork;
  /** If the person answers, the call runs again with the answer; otherwise this result is final. */
  readonly question?: Question;
}

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly annotations: Annotations;
  readonly input: z.ZodObject;
  /** Arguments that are accepted and checked but not published. */
  readonly unpublishedArguments?: readonly string[];
  /**
   * Arguments for which this tool publishes only the type, because another tool publishes their bounds. The arguments
   * must be consecutive, because the first one's description refers to all of them as a range (`<first name> to <last name>`).
   */
  readonly boundsPublishedIn?: { readonly tool: string; readonly names: readonly string[] };
  /** The `_meta` of the published tool. */
  readonly meta?: Readonly<Record<string, unknown>>;
  readonly output: z.ZodObject;
  /**
   * Handles a call. Parses the arguments itself, so that callers need not know the type of the arguments.
   *
   * @throws BadArgumentsError if the arguments break the schema
   * @throws the errors of the handler
   */
  run(args: unknown, deps: ToolDeps, call: ToolCall): Promise<ToolResult>;
  /**
   * Returns the arguments with which any process can run a call that may last: those of the call, and what the settings
   * add to them. `null` if the call returns soon, or if it breaks the schema. Absent in tools whose calls return soon.
   */
  readonly pinArguments?: (args: unknown, deps: ToolDeps) => Readonly<Record<string, unknown>> | null;
  /**
   * Takes back what a call that is answered as an MCP task wants.
   *
   * @param handle the MCP task. The call's wish has its id, too. `target` is what it wants; `null` if nothing yet
   * @returns the final sentence about the MCP task; `null` if it is too late, because the service may have the request
   */
  readonly cancel?: (
    handle: { readonly id: string; readonly target: string | null },
    deps: ToolDeps,
  ) => Promise<string | null>;
}

/** The names of the published arguments, in order. */
export function listPublishedArguments({
  input,
  unpublishedArguments = [],
}: Pick<Tool, "input" | "unpublishedArguments">): string[] {
  return Object.keys(input.shape).filter((name) => !unpublishedArguments.includes(name));
}

/**
 * Thrown if the caller's arguments break the tool's schema. This is a class of its own, because any other `ZodError` is
 * a bug of this program or its ledger, not an error of the caller.
 */
export class BadArgumentsError extends Error {
  override readonly name = "BadArgumentsError";
  readonly issues: ZodError;

  constructor(issues: ZodError) {
    super("the arguments break the schema of the tool");
    this.issues = issues;
  }
}

interface ToolDefinition<Input extends z.ZodObject> extends Omit<Tool, "input" | "run" | "pinArguments"> {
  readonly input: Input;
  /**
   * The schema `input` with rules that concern several fields. JSON Schema cannot express such rules. If `rules` is
   * absent, arguments are checked with `input`.
   */
  readonly rules?: z.ZodType<z.output<Input>>;
  run(args: z.output<Input>, deps: ToolDeps, call: ToolCall): Promise<ToolResult>;
  pinArguments?(args: z.output<Input>, deps: ToolDeps): Readonly<Record<string, unknown>> | null;
}

/** Defines a tool. The handler gets arguments that were parsed and have the type that the schema states. */
export function defineTool<Input extends z.ZodObject>(definition: ToolDefinition<Input>): Tool {
  const { pinArguments, run, ...metadata } = definition;
  const parse = (args: unknown) =>
    (definition.rules ?? definition.input).safeParse(coerceArguments(args, definition.input));
  return {
    ...metadata,
    run: async (args, deps, call) => {
      const parsed = parse(args);
      if (!parsed.success) throw new BadArgumentsError(parsed.error);
      return await run(parsed.data, deps, call);
    },
    ...(pinArguments !== undefined && {
      pinArguments: (args, deps) => {
        const parsed = parse(args);
        return parsed.success ? pinArguments(parsed.data, deps) : null;
      },
    }),
  };
}
