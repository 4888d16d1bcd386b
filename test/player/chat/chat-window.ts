/** What test and chat page know of each other. */

import type { CallToolResult } from "@modelcontextprotocol/client";
import type { McpUiHostCapabilities, McpUiHostContext } from "@modelcontextprotocol/ext-apps/app-bridge";

export type HostAnswer = { result: unknown } | { error: { code: number; message: string } };

export interface ChatOptions {
  /** Of the player's frame. */
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
    /** Anything, as a host that keeps to no rule would. */
    post(message: unknown): void;
  };
}
