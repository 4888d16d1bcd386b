/** The dialect of Anthropic's Messages API. */
import { z } from "zod";
import { type Dialect, MODEL, newId, type Reply } from "./dialect.ts";

const block = z.looseObject({ type: z.string(), tool_use_id: z.string().optional() });
const body = z.looseObject({
  stream: z.boolean().optional(),
  tools: z.array(z.looseObject({ name: z.string() })).optional(),
  messages: z.array(z.looseObject({ content: z.union([z.string(), z.array(block)]) })),
});

const blockOf = (reply: Reply) =>
  reply.kind === "say"
    ? { type: "text", text: reply.text }
    : { type: "tool_use", id: reply.callId, name: reply.tool.name, input: reply.args };

const endOf = (reply: Reply): string => (reply.kind === "say" ? "end_turn" : "tool_use");

const messageWith = (content: readonly unknown[], stop_reason: string | null) => ({
  id: newId("msg"),
  type: "message",
  role: "assistant",
  model: MODEL,
  content,
  stop_reason,
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 1 },
});

export const messages: Dialect = {
  name: "Anthropic Messages",
  path: /\/messages$/,
  read(given) {
    const { stream, tools = [], messages: turns } = body.parse(given);
    const blocks = turns.flatMap(({ content }) => (typeof content === "string" ? [] : content));
    return {
      isStreamed: stream === true,
      tools: tools.map(({ name }) => ({ name })),
      results: blocks.flatMap((resultContent) =>
        resultContent.type === "tool_result" && resultContent.tool_use_id !== undefined
          ? [{ callId: resultContent.tool_use_id, resultContent }]
          : [],
      ),
    };
  },
  document: (reply) => messageWith([blockOf(reply)], endOf(reply)),
  events(reply) {
    const whole = blockOf(reply);
    const [startedBlock, delta] =
      reply.kind === "say"
        ? [
            { ...whole, text: "" },
            { type: "text_delta", text: reply.text },
          ]
        : [
            { ...whole, input: {} },
            { type: "input_json_delta", partial_json: JSON.stringify(reply.args) },
          ];
    return [
      { type: "message_start", message: messageWith([], null) },
      { type: "content_block_start", index: 0, content_block: startedBlock },
      { type: "content_block_delta", index: 0, delta },
      { type: "content_block_stop", index: 0 },
      {
        type: "message_delta",
        delta: { stop_reason: endOf(reply), stop_sequence: null },
        usage: { output_tokens: 1 },
      },
      { type: "message_stop" },
    ];
  },
};
