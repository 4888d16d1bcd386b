/** The dialect of OpenAI's Responses API. */
import { z } from "zod";
import { type Dialect, MODEL, newId, type OfferedTool, type Reply } from "./dialect.ts";

const named = z.looseObject({ type: z.string().optional(), name: z.string().optional() });
const offered = named.extend({ tools: z.array(named).optional() });
const body = z.looseObject({
  stream: z.boolean().optional(),
  tools: z.array(offered).optional(),
  input: z.union([
    z.string(),
    z.array(named.extend({ call_id: z.string().optional(), tools: z.array(offered).optional() })),
  ]),
});

const toolOf = ({ type, name }: z.infer<typeof named>, group: string | undefined): OfferedTool[] =>
  name === undefined
    ? []
    : [
        {
          name,
          ...(group === undefined ? {} : { group }),
          ...(type === "custom" && name === "exec" ? { takesCode: true } : {}),
        },
      ];

const toolsOf = (tools: ReadonlyArray<z.infer<typeof offered>>): OfferedTool[] =>
  tools.flatMap((each) =>
    each.tools === undefined
      ? toolOf(each, undefined)
      : each.tools.flatMap((tool) => toolOf(tool, each.name)),
  );

function itemOf(reply: Reply) {
  if (reply.kind === "say") {
    return {
      type: "message",
      id: newId("msg"),
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: reply.text, annotations: [] }],
    };
  }
  const { name, group, takesCode } = reply.tool;
  return {
    id: newId("item"),
    call_id: reply.callId,
    name,
    ...(group === undefined ? {} : { namespace: group }),
    status: "completed",
    ...(takesCode === true
      ? { type: "custom_tool_call", input: String(reply.args["code"]) }
      : { type: "function_call", arguments: JSON.stringify(reply.args) }),
  };
}

const usage = {
  input_tokens: 1,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 1,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 2,
};

const responseWith = (status: string, output: readonly unknown[]) => ({
  id: newId("resp"),
  object: "response",
  created_at: 1_700_000_000,
  model: MODEL,
  status,
  output,
  tools: [],
  tool_choice: "auto",
  parallel_tool_calls: false,
  error: null,
  incomplete_details: null,
  instructions: null,
  metadata: {},
  ...(status === "completed" ? { usage } : {}),
});

export const responses: Dialect = {
  name: "OpenAI Responses",
  path: /\/responses$/,
  read(given) {
    const { stream, tools = [], input } = body.parse(given);
    const items = typeof input === "string" ? [] : input;
    // Codex sends the tools for its newer models as items of the input.
    const added = items.flatMap((item) => item.tools ?? []);
    return {
      isStreamed: stream === true,
      tools: toolsOf([...tools, ...added]),
      results: items.flatMap((item) =>
        item.type?.endsWith("_call_output") && item.call_id !== undefined
          ? [{ callId: item.call_id, resultContent: item }]
          : [],
      ),
    };
  },
  document: (reply) => responseWith("completed", [itemOf(reply)]),
  events(reply) {
    const item = itemOf(reply);
    const at = { item_id: item.id, output_index: 0 };
    const text = { ...at, content_index: 0 };
    const args = "arguments" in item ? item.arguments : undefined;
    const pieces = [
      ...(reply.kind === "say"
        ? [
            { type: "response.output_text.delta", ...text, delta: reply.text },
            { type: "response.output_text.done", ...text, text: reply.text },
          ]
        : []),
      ...(args === undefined
        ? []
        : [
            { type: "response.function_call_arguments.delta", ...at, delta: args },
            { type: "response.function_call_arguments.done", ...at, arguments: args },
          ]),
    ];
    const startedResponse = {
      ...item,
      status: "in_progress",
      ...(reply.kind === "call" ? { arguments: "" } : { content: [] }),
    };
    const events = [
      { type: "response.created", response: responseWith("in_progress", []) },
      { type: "response.output_item.added", output_index: 0, item: startedResponse },
      ...pieces,
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response: responseWith("completed", [item]) },
    ];
    return events.map((event, sequence_number) => ({ ...event, sequence_number }));
  },
};
