/** The quirks of single client programs, and how this server avoids problems with them. Each entry cites its source. */
import type { ResourceLinks } from "../config/settings.ts";

/** The arguments that clients add to every tool's schema and send to the server. */
const ADDED_ARGUMENTS: readonly string[] = [
  // Gemini CLI, so that calls run one after the other. Gemini CLI 0.61, driven on 2026-11-21; MemPalace/mempalace#322.
  "wait_for_previous",
];

/** Patterns that match the start of a client's lower-case `clientInfo.name`. */
type KnownClients = readonly RegExp[];

/**
 * The clients that get links: they show a `resource_link` to the user or to their model, or ignore it. Others get none,
 * because a link can crash a client after the audio was paid for, as in LangChain's adapters (langchain#40475). Clients
 * without links still get the path, because the text and the structured content contain it.
 */
const LINKING_CLIENTS: KnownClients = [
  // VS Code shows links as attachments of the result.
  /^(?:visual studio code|vscode)/,
  // Claude Desktop (claude-ai) shows them. Claude Code 2.1 tells its model their name and address.
  /^claude/,
  // Gemini CLI 0.61 (gemini-cli-mcp-client…) turns them into text.
  /^gemini-cli/,
  // MCP Inspector 2.12 shows and opens them.
  /^(?:mcp-)?inspector/,
  // Cursor (cursor-vscode) shows them.
  /^cursor/,
  // Goose shows them.
  /^goose/,
];

/** Clients that put audio bytes as text into the context of their model. All were driven on 2026-11-22. */
const BASE64_IN_CONTEXT: KnownClients = [
  // Cline.
  /^@cline\/core/,
  // Strands Agents.
  /^strands-agents-ts-sdk/,
  // mcp-use.
  /^mcp-use/,
  // BeeAI.
  /^mcpclient/,
];

/** Clients in which a block of type `audio` ends the conversation. These clients get an embedded resource instead. */
const CLIENTS_WITHOUT_AUDIO_BLOCKS: KnownClients = [
  // LangChain 1.5, driven on 2026-11-22: ChatOpenAI and ChatAnthropic throw. A resource is kept beside the result
  // (`artifact`), for the program.
  /^@langchain\/mcp-adapters/,
];

/** Removes the arguments that clients add on their own. Other unknown arguments stay and are refused. */
export const withoutAddedArguments = (args: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(args).filter(([name]) => !ADDED_ARGUMENTS.includes(name)));

/** The properties of a client that affect its results. */
export interface ClientTraits {
  readonly mayGetLinks: boolean;
  readonly acceptsAudioBlocks: boolean;
  readonly putsBytesIntoContext: boolean;
}

/**
 * Finds what results for a client may contain.
 *
 * @param clientName `clientInfo.name`, to which bridges may append text; a client without a name gets no links
 */
export function findClientTraits(setting: ResourceLinks, clientName = ""): ClientTraits {
  const isOneOf = (clients: KnownClients): boolean =>
    clients.some((name) => name.test(clientName.toLowerCase()));
  return {
    mayGetLinks: setting === "auto" ? isOneOf(LINKING_CLIENTS) : setting === "always",
    acceptsAudioBlocks: !isOneOf(CLIENTS_WITHOUT_AUDIO_BLOCKS),
    putsBytesIntoContext: isOneOf(BASE64_IN_CONTEXT),
  };
}
