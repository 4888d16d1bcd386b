/** The requests and responses of a scripted model, independent of the API dialect. */

export interface OfferedTool {
  readonly name: string;
  /** Codex offers the tools of one server as a named group, and wants the group's name back with each call. */
  readonly group?: string;
  /** Codex has its newer models write a script that calls the tools; its text is the argument `code`. */
  readonly takesCode?: true;
}

/** The result of one call of the model. */
export interface ShownResult {
  /** The id under which the model had made it. */
  readonly callId: string;
  /** All that the client wrote about it, as it wrote it. */
  readonly shown: unknown;
}

export interface ModelRequest {
  readonly tools: readonly OfferedTool[];
  readonly results: readonly ShownResult[];
  readonly isStreamed: boolean;
}

export type Reply =
  | { readonly kind: "say"; readonly text: string }
  | {
      readonly kind: "call";
      readonly callId: string;
      readonly tool: OfferedTool;
      readonly args: Record<string, unknown>;
    };

export interface Dialect {
  readonly name: string;
  /** The paths that are asked for an answer. */
  readonly path: RegExp;
  /** @throws ZodError for a body that is not of this dialect */
  read(body: unknown, url: string): ModelRequest;
  /** The whole answer as one document. */
  document(reply: Reply): unknown;
  /** The same answer in pieces; a string goes out as it is. */
  events(reply: Reply): ReadonlyArray<{ readonly [name: string]: unknown } | string>;
}

let lastId = 0;

/** An id that no other answer of this process has. */
export function newId(prefix: string): string {
  lastId += 1;
  return `${prefix}_scripted${lastId}`;
}

export const MODEL = "scripted";
