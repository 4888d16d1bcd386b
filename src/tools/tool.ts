/** What a tool is: data, and one handler that returns data or throws. */
import type { ZodError, z } from "zod";
import { readArguments } from "../contract/read-arguments.ts";
import type { VoiceId } from "../contract/voices.ts";
import type { InputText } from "../files/input-format.ts";
import type { Generation } from "../generation/generation.ts";
import type { Begun } from "../generation/handles/standing.ts";
import type { Call } from "../generation/job/wait-for-job.ts";
import type { Narrations } from "../narration/narrations.ts";
import type { Pronunciation } from "../pronunciation.ts";

/** The hints that clients read before they call; all four are always stated, and published with the title. */
export interface Annotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

/** What a handler may use, and no more. */
export interface ToolDeps {
  /** Throws `configuration_error` naming every fault of the settings; loads nothing. */
  assertConfigured(): void;
  /** Loads and opens the workflow on first use; throws `configuration_error` while it cannot work. */
  generation(): Promise<Generation>;
  /** As {@link generation}, where there is a ledger already; `null`: there is none, or the settings are not complete. */
  knownGeneration(): Promise<Generation | null>;
  /** As {@link generation}, for narrations. */
  narrations(): Promise<Narrations>;
  /**
   * A text file of the folder that a person has opened for it.
   *
   * @throws AudioError `configuration_error` where there is none, `invalid_request` naming the rule that the file breaks
   */
  readInput(file: string): Promise<InputText>;
  /** True once: the first time that this process hands out a saved file. */
  readonly isFirstSuccess: () => boolean;
  readonly defaultVoice: VoiceId | null;
  /** How a person wants words to be said; what a call says comes on top. */
  readonly pronunciations: readonly Pronunciation[];
  /** A person's own words about the voices. */
  readonly voiceNotes: ReadonlyMap<VoiceId, string>;
  readonly defaultWaitSeconds: number;
}

export type ToolCall = Pick<Call, "signal" | "onProgress">;

/** A file that a result points at. */
export interface AudioLink {
  readonly uri: string;
  readonly name: string;
  readonly mimeType: string;
  readonly sizeBytes: number;
}

/** Audio bytes that the caller asked to have inside the result. */
export interface InlineAudio {
  readonly uri: string;
  readonly mimeType: string;
  readonly sizeBytes: number;
  /** Loads the bytes. @throws AudioError when the file is not what was saved, or larger than `most` */
  read(most: number): Promise<Uint8Array>;
}

/** What only the person can say, where the client can ask them: a number for an argument that was left out. */
export interface Question {
  readonly argument: string;
  readonly message: string;
  /** Of the field. */
  readonly title: string;
  readonly minimum: number;
  readonly maximum: number;
  readonly suggested: number;
}

export interface ToolResult {
  readonly structured: Record<string, unknown>;
  /** One short block for people and models. */
  readonly text: string;
  readonly link?: AudioLink;
  /** For pages of hosts, beside what models read. */
  readonly meta?: Readonly<Record<string, unknown>>;
  readonly inline?: InlineAudio;
  /** Answered, the same call is run with it; otherwise this result stands. */
  readonly question?: Question;
}

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly annotations: Annotations;
  readonly input: z.ZodObject;
  /** Arguments that are taken and checked, and not published. */
  readonly unpublished?: readonly string[];
  /** Neighbouring arguments whose bounds that tool publishes; here their types are enough. */
  readonly boundsIn?: { readonly tool: string; readonly names: readonly string[] };
  /** What the published tool carries for clients beside the protocol's own fields. */
  readonly meta?: Readonly<Record<string, unknown>>;
  readonly output: z.ZodObject;
  /**
   * Parses its own arguments, so that each tool's types stay its own.
   *
   * @throws BadArguments when they break the schema; whatever the handler throws
   */
  handle(args: unknown, deps: ToolDeps, call: ToolCall): Promise<ToolResult>;
  /** The same for a client that takes a task of the protocol's extension for an answer; only where there are such. */
  readonly begin?: (args: unknown, deps: ToolDeps, call: ToolCall) => Promise<Begun<ToolResult>>;
}

/** The names of the arguments that clients are told of, in their order. */
export function publishedArguments({
  input,
  unpublished = [],
}: Pick<Tool, "input" | "unpublished">): string[] {
  return Object.keys(input.shape).filter((name) => !unpublished.includes(name));
}

/**
 * The caller's arguments break the tool's schema. A class of its own, because a `ZodError` from anywhere deeper is a
 * fault of this program or of its ledger, and never the caller's.
 */
export class BadArguments extends Error {
  override readonly name = "BadArguments";
  readonly faults: ZodError;

  constructor(faults: ZodError) {
    super("the arguments break the schema of the tool");
    this.faults = faults;
  }
}

interface ToolDefinition<Input extends z.ZodObject> extends Omit<Tool, "input" | "handle" | "begin"> {
  readonly input: Input;
  /** Rules across fields, which JSON Schema cannot say; defaults to the input itself. */
  readonly rules?: z.ZodType<z.output<Input>>;
  handle(args: z.output<Input>, deps: ToolDeps, call: ToolCall): Promise<ToolResult>;
  begin?(args: z.output<Input>, deps: ToolDeps, call: ToolCall): Promise<Begun<ToolResult>>;
}

/** Ties a handler's argument type to its schema. */
export function defineTool<Input extends z.ZodObject>(definition: ToolDefinition<Input>): Tool {
  const { begin, handle, ...words } = definition;
  const parse = (args: unknown): z.output<Input> => {
    const parsed = (definition.rules ?? definition.input).safeParse(readArguments(args, definition.input));
    if (!parsed.success) throw new BadArguments(parsed.error);
    return parsed.data;
  };
  return {
    ...words,
    handle: async (args, deps, call) => await handle(parse(args), deps, call),
    ...(begin === undefined
      ? {}
      : { begin: async (args, deps, call) => await begin(parse(args), deps, call) }),
  };
}
