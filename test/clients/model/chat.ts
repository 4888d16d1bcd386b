/** The dialect of OpenAI's Chat Completions API, which most other providers also use. */
import { z } from "zod";
import { type Dialect, MODEL, newId, type Reply } from "./dialect.ts";

const body = z.looseObject({
  stream: z.boolean().nullish(),
  tools: z.array(z.looseObject({ function: z.looseObject({ name: z.string() }) })).optional(),
  messages: z.array(z.looseObject({ role: z.string(), tool_call_id: z.string().optional() })),
});

const callsOf = (reply: Reply) =>
  reply.kind === "say"
    ? undefined
    : [
        {
          id: reply.callId,
          type: "function",
          function: { name: reply.tool.name, arguments: JSON.stringify(reply.args) },
        },
      ];

const frame = (object: string) => ({ id: newId("chatcmpl"), object, created: 1_700_000_000, model: MODEL });
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const endOf = (reply: Reply): string => (reply.kind === "say" ? "stop" : "tool_calls");

export const chat: Dialect = {
  name: "OpenAI Chat",
  path: /\/chat\/completions$/,
  read(given) {
    const { stream, tools = [], messages } = body.parse(given);
    return {
      isStreamed: stream === true,
      tools: tools.map((tool) => ({ name: tool.function.name })),
      results: messages.flatMap((message) =>
        message.role === "tool" && message.tool_call_id !== undefined
          ? [{ callId: message.tool_call_id, resultContent: message }]
          : [],
      ),
    };
  },
  document: (reply) => ({
    ...frame("chat.completion"),
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: reply.kind === "say" ? reply.text : null,
          tool_calls: callsOf(reply),
        },
        finish_reason: endOf(reply),
      },
    ],
    usage,
  }),
  events(reply) {
    const piece = (delta: Record<string, unknown>, finish_reason: string | null = null) => ({
      ...frame("chat.completion.chunk"),
      choices: [{ index: 0, delta, finish_reason }],
    });
    const calls = callsOf(reply)?.map((call, index) => ({ index, ...call }));
    return [
      piece({ role: "assistant", content: reply.kind === "say" ? reply.text : null, tool_calls: calls }),
      piece({}, endOf(reply)),
      { ...frame("chat.completion.chunk"), choices: [], usage },
      "[DONE]",
    ];
  },
};
