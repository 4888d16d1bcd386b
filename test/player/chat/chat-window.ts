/** The interface between test and chat page. */
import type { CallToolResult } from "@modelcontextprotocol/client";
import type { McpUiHostCapabilities, McpUiHostContext } from "@modelcontextprotocol/ext-apps/app-bridge";

export type HostAnswer = { result: unknown } | { error: { code: number; message: string } };

export interface ChatOptions {
  /** The size of the player's frame. */
  readonly src: string;
  readonly capabilities: McpUiHostCapabilities;
  readonly context: McpUiHostContext;
  /** It never answers. */
  readonly hangs: boolean;
}

export interface ChatWindow {
  readonly chatOptions: ChatOptions;
  askTest(request: string): Promise<string>;
  chat: {
    readonly initialized: Promise<void>;
    input(args: Record<string, unknown>): Promise<void>;
    result(result: CallToolResult): Promise<void>;
    context(changes: McpUiHostContext): Promise<void>;
    teardown(): Promise<void>;
    /** Anything, like a host that breaks the rules. */
    post(message: unknown): void;
  };
}
