/** A model on loopback that supports four API dialects and plays one conversation for every client. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { z } from "zod";
import { STEPS, type Step, unescapedText } from "../conversation.ts";
import { chat } from "./chat.ts";
import { type Dialect, MODEL, type ModelRequest, newId, type OfferedTool, type Reply } from "./dialect.ts";
import { gemini } from "./gemini.ts";
import { messages } from "./messages.ts";
import { responses } from "./responses.ts";

const DIALECTS: readonly Dialect[] = [responses, chat, messages, gemini];

/** No conversation needs more requests. The limit stops a client that repeats itself. */
const MAX_REQUESTS = 60;

/** The search tools of Claude Code and Qwen Code, which show other tools only after the model has searched for them. */
const SEARCHES: readonly string[] = ["ToolSearch", "tool_search"];
/** The tool of Qwen Code through which the model calls a tool that a search has found. */
const INDIRECT_CALL_TOOL = "tool_call";

export interface ModelListener {
  /** Called before the model makes the call of this step. */
  onStep(step: Step): Promise<void>;
}

export class ScriptedModel {
  /** The results of the steps so far, in their order. */
  readonly resultContent: unknown[] = [];
  /** The names under which our tools were offered. */
  readonly toolNames = new Set<string>();
  /** The requests to the model, for analysing failures. */
  readonly log: unknown[] = [];
  dialect: Dialect | undefined;
  readonly #server: Server;
  readonly #listener: ModelListener;
  /** What each call id stands for: the index of a step, or a search. */
  readonly #calls = new Map<string, number | "search">();
  #searches = 0;
  #searchesForFirst = 0;
  /** The joined results of all searches. */
  #found = "";

  private constructor(listener: ModelListener) {
    this.#listener = listener;
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => {
        this.log.push({ url: request.url, error: String(error) });
        response.writeHead(400, { "content-type": "application/json" });
        response.end(JSON.stringify({ error: { type: "invalid_request_error", message: String(error) } }));
      });
    });
  }

  static async start(listener: ModelListener): Promise<ScriptedModel> {
    const model = new ScriptedModel(listener);
    await new Promise<void>((resolve) => model.#server.listen(0, "127.0.0.1", resolve));
    return model;
  }

  get url(): string {
    const { port } = z.object({ port: z.int() }).parse(this.#server.address());
    return `http://127.0.0.1:${port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    const text = Buffer.concat(chunks).toString();
    const path = (request.url ?? "").split("?")[0] ?? "";
    const dialect = DIALECTS.find((each) => each.path.test(path));
    if (request.method !== "POST" || dialect === undefined) {
      this.#answerOtherRequest(path, response);
      return;
    }
    const body: unknown = JSON.parse(text);
    const modelRequest = dialect.read(body, path);
    const reply = await this.#replyTo(modelRequest);
    this.log.push({ path, body, reply });
    if (reply.kind === "call") this.dialect = dialect;
    if (modelRequest.isStreamed) this.#stream(dialect.events(reply), response);
    else this.#send(dialect.document(reply), response);
  }

  /** Answers requests that are not for the model, such as the list of models and the number of tokens. */
  #answerOtherRequest(path: string, response: ServerResponse): void {
    this.log.push({ path });
    if (path.endsWith("/models"))
      this.#send({ object: "list", data: [{ id: MODEL, object: "model" }] }, response);
    else if (path.endsWith("count_tokens")) this.#send({ input_tokens: 1 }, response);
    else if (path.endsWith(":countTokens")) this.#send({ totalTokens: 1 }, response);
    else this.#send({ error: { type: "not_found", message: "not here" } }, response, 404);
  }

  #send(document: unknown, response: ServerResponse, status = 200): void {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(document));
  }

  #stream(events: ReturnType<Dialect["events"]>, response: ServerResponse): void {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of events) {
      const name = typeof event === "string" ? undefined : event["type"];
      if (name !== undefined) response.write(`event: ${name}\n`);
      response.write(`data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`);
    }
    response.end();
  }

  async #replyTo({ tools, results }: ModelRequest): Promise<Reply> {
    if (this.log.length > MAX_REQUESTS) throw new Error("the conversation does not end");
    for (const { callId, resultContent } of results) {
      const step = this.#calls.get(callId);
      if (typeof step === "number") this.resultContent[step] = resultContent;
      else if (step === "search") this.#found += unescapedText(resultContent);
    }
    for (const { name, group } of tools) {
      if (STEPS.some(({ tool }) => isTool(name, tool))) this.toolNames.add(group ? `${group}.${name}` : name);
    }
    const step = STEPS[this.resultContent.length];
    if (step === undefined) return { kind: "say", text: "It is done." };
    const tool = tools.find(({ name }) => isTool(name, step.tool));
    if (tool !== undefined) return this.#callStep(step, tool);
    const code = tools.find(({ takesCode }) => takesCode);
    if (code !== undefined) return this.#callStep(step, code);
    const found = new RegExp(`\\b\\w[\\w-]*__${step.tool}\\b`).exec(this.#found)?.[0];
    const indirectCallTool = tools.find(({ name }) => name === INDIRECT_CALL_TOOL);
    if (found !== undefined && indirectCallTool !== undefined) {
      this.toolNames.add(found);
      return this.#callStep(step, indirectCallTool, found);
    }
    const search = tools.find(({ name }) => SEARCHES.includes(name));
    // Without tools, the client requests a title or a summary.
    if (search === undefined) return { kind: "say", text: "Good." };
    return this.#call("search", search, { query: this.#queryFor(step), max_results: 5 });
  }

  /** @param found the name of the step's tool, if `tool` is the {@link INDIRECT_CALL_TOOL} */
  async #callStep(step: Step, tool: OfferedTool, found?: string): Promise<Reply> {
    await this.#listener.onStep(step);
    const args = step.args(unescapedText(this.resultContent));
    const own = found === undefined ? args : { name: found, arguments: args };
    const callArgs = tool.takesCode ? { code: codeFor(step.tool, args) } : own;
    return this.#call(this.resultContent.length, tool, callArgs);
  }

  #call(meaning: number | "search", tool: OfferedTool, args: Record<string, unknown>): Reply {
    const callId = newId("call");
    this.#calls.set(callId, meaning);
    return { kind: "call", callId, tool, args };
  }

  /** Whether the first search did not find the tool of the first step. */
  get isHiddenFromSearch(): boolean {
    return this.#searchesForFirst > 1;
  }

  /**
   * Returns the query of a search. The first query is in the words of a user who does not know this server. Later
   * queries contain the tool's name.
   */
  #queryFor(step: Step): string {
    this.#searches += 1;
    if (this.resultContent.length === 0) this.#searchesForFirst = this.#searches;
    const known = [...this.toolNames][0]?.replace(/__[a-z_]+$/, "") ?? "mcp__audio-generation";
    return this.#searches === 1 ? "text to speech" : `select:${known}__${step.tool}`;
  }
}

/** Compares the end of the name, because each client puts the server's name before the tool's name in its own form. */
const isTool = (name: string, tool: string): boolean =>
  name === tool || name.endsWith(`_${tool}`) || name.endsWith(`-${tool}`);

/** Returns a script that finds the tool by the end of its name, calls it, and prints its name and the response. */
const codeFor = (tool: string, args: Record<string, unknown>): string =>
  `const { name } = ALL_TOOLS.find((each) => each.name.endsWith("${tool}"));
text(name);
text(await tools[name](${JSON.stringify(args)}));`;
