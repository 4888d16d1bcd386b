/** The quirks of single client programs, and how this server avoids problems with them. Each entry cites its source. */
import type { ResourceLinks } from "../config/settings.ts";

/** An argument that a client adds to every tool's schema and sends to the server. */
interface AddedArgument {
  readonly name: string;
  readonly client: string;
  readonly source: string;
}

const ADDED_ARGUMENTS: readonly AddedArgument[] = [
  {
    name: "wait_for_previous",
    client: "Gemini CLI: added to every tool's schema, so that calls run one after the other",
    source: "Gemini CLI 0.61, driven on 2026-11-21; MemPalace/mempalace#322",
  },
];

/** A client with a quirk. `name` matches the start of its lower-case `clientInfo.name`. */
interface KnownClient {
  readonly name: RegExp;
  readonly source: string;
}

/**
 * The clients that get links: they show a `resource_link` to the user or to their model, or ignore it. Others get none, because a link can crash a client after the audio was paid for,
 * as in LangChain's adapters (langchain#40475). Clients without links still get the path, because the text and the
 * structured content contain it.
 */
const LINKING_CLIENTS: readonly KnownClient[] = [
  { name: /^(?:visual studio code|vscode)/, source: "VS Code: shows links as attachments of the result" },
  {
    name: /^claude/,
    source: "Claude Desktop (claude-ai) shows them; Claude Code 2.1 tells its model their name and address",
  },
  { name: /^gemini-cli/, source: "Gemini CLI 0.61 (gemini-cli-mcp-client…): turns them into text" },
  { name: /^(?:mcp-)?inspector/, source: "MCP Inspector 2.12: shows and opens them" },
  { name: /^cursor/, source: "Cursor (cursor-vscode): shows them" },
  { name: /^goose/, source: "Goose: shows them" },
];

/** Clients that put audio bytes as text into the context of their model. */
const BASE64_IN_CONTEXT: readonly KnownClient[] = [
  { name: /^@cline\/core/, source: "Cline, driven on 2026-11-22" },
  { name: /^strands-agents-ts-sdk/, source: "Strands Agents, driven on 2026-11-22" },
  { name: /^mcp-use/, source: "mcp-use, driven on 2026-11-22" },
  { name: /^mcpclient/, source: "BeeAI (MCPClient), driven on 2026-11-22" },
];

/** Clients in which a block of type `audio` ends the conversation. These clients get an embedded resource instead. */
const CLIENTS_WITHOUT_AUDIO_BLOCKS: readonly KnownClient[] = [
  {
    name: /^@langchain\/mcp-adapters/,
    source:
      "LangChain 1.5, driven on 2026-11-22: ChatOpenAI and ChatAnthropic throw; a resource is kept beside the result (`artifact`), for the program",
  },
];

/** Removes the arguments that clients add on their own. Other unknown arguments stay and are refused. */
export function withoutAddedArguments(args: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const isAdded = (name: string): boolean => ADDED_ARGUMENTS.some((added) => added.name === name);
  return Object.fromEntries(Object.entries(args).filter(([name]) => !isAdded(name)));
}

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
  const isOneOf = (clients: ReadonlyArray<{ readonly name: RegExp }>): boolean =>
    clients.some(({ name }) => name.test(clientName.toLowerCase()));
  return {
    mayGetLinks: setting === "auto" ? isOneOf(LINKING_CLIENTS) : setting === "always",
    acceptsAudioBlocks: !isOneOf(CLIENTS_WITHOUT_AUDIO_BLOCKS),
    putsBytesIntoContext: isOneOf(BASE64_IN_CONTEXT),
  };
}
