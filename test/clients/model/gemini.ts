/** The dialect of Google's Gemini API. */
import { z } from "zod";
import { type Dialect, MODEL, type Reply } from "./dialect.ts";

const declarations = z.array(z.looseObject({ name: z.string() })).optional();
const part = z.looseObject({
  functionResponse: z.looseObject({ id: z.string().optional() }).optional(),
});
const body = z.looseObject({
  tools: z.array(z.looseObject({ functionDeclarations: declarations })).optional(),
  contents: z.array(z.looseObject({ parts: z.array(part).optional() })),
});

/**
 * Returns the results in a message of the client. The content of each result is all `parts` of the message, because the
 * audio of a result may be in a part of its own.
 */
function resultsIn(parts: ReadonlyArray<z.infer<typeof part>> = []) {
  return parts.flatMap((each) => {
    const callId = each.functionResponse?.id;
    return callId === undefined ? [] : [{ callId, resultContent: parts.length === 1 ? each : parts }];
  });
}

const partOf = (reply: Reply) =>
  reply.kind === "say"
    ? { text: reply.text }
    : { functionCall: { id: reply.callId, name: reply.tool.name, args: reply.args } };

const answer = (reply: Reply) => ({
  candidates: [{ content: { role: "model", parts: [partOf(reply)] }, finishReason: "STOP", index: 0 }],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  modelVersion: MODEL,
});

export const gemini: Dialect = {
  name: "Gemini",
  path: /:(?:streamGenerateContent|generateContent)$/,
  read(given, url) {
    const { tools = [], contents } = body.parse(given);
    return {
      isStreamed: url.includes(":streamGenerateContent"),
      tools: tools.flatMap(({ functionDeclarations = [] }) =>
        functionDeclarations.map(({ name }) => ({ name })),
      ),
      results: contents.flatMap(({ parts }) => resultsIn(parts)),
    };
  },
  document: answer,
  events: (reply) => [answer(reply)],
};
