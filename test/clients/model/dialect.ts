/** The requests and responses of a scripted model, independent of the API dialect. */

export interface OfferedTool {
  readonly name: string;
  /** Codex offers the tools of one server as a named group, and expects the group's name in each call. */
  readonly group?: string;
  /** Codex lets its newer models write a script that calls the tools. The argument `code` contains the script. */
  readonly takesCode?: true;
}

/** The result of one call of the model. */
export interface ShownResult {
  /** The id that the model gave to the call. */
  readonly callId: string;
  /** Everything that the client wrote about the result, unchanged. */
  readonly resultContent: unknown;
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
  /** Matches the paths at which clients request a response of the model. */
  readonly path: RegExp;
  /** @throws ZodError if the body is not of this dialect */
  read(body: unknown, url: string): ModelRequest;
  /** Returns the whole response as one document. */
  document(reply: Reply): unknown;
  /** Returns the response as the events of a stream. An object is sent as JSON, a string unchanged. */
  events(reply: Reply): ReadonlyArray<{ readonly [name: string]: unknown } | string>;
}

let lastId = 0;

/** Returns an id that no other response of this process has. */
export function newId(prefix: string): string {
  lastId += 1;
  return `${prefix}_scripted${lastId}`;
}

export const MODEL = "scripted";
