/** The interface between a test and the page of the chat. */
import type { CallToolResult } from "@modelcontextprotocol/client";
import type { McpUiHostCapabilities, McpUiHostContext } from "@modelcontextprotocol/ext-apps/app-bridge";

export type HostAnswer = { result: unknown } | { error: { code: number; message: string } };

export interface ChatOptions {
  /** The address of the player's page. */
  readonly src: string;
  readonly capabilities: McpUiHostCapabilities;
  readonly context: McpUiHostContext;
  /** Whether the host never answers the player. */
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
    /** Sends the player any message, even one that breaks the protocol's rules. */
    post(message: unknown): void;
  };
}
