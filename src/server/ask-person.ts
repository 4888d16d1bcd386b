/** Asks the person at the client, in either era, where a tool wants to know what only they can say. */
import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Question } from "../tools/tool.ts";

const envelopeOfClient = z.object({
  [CLIENT_CAPABILITIES_META_KEY]: z.object({ elicitation: z.looseObject({}).optional() }),
});

/**
 * Whether the client can show a form: told with each request in the era of 2026-07-28, and once before that.
 *
 * @param initialized what a handshake told, where there was one
 */
function canAsk(context: ServerContext, initialized: ClientCapabilities | undefined): boolean {
  const envelope = envelopeOfClient.safeParse(context.mcpReq.envelope);
  const elicitation = envelope.success
    ? envelope.data[CLIENT_CAPABILITIES_META_KEY].elicitation
    : initialized?.elicitation;
  if (elicitation === undefined) return false;
  // A client that names only other ways of asking has no forms; one that names none has.
  return "form" in elicitation || Object.keys(elicitation).length === 0;
}

/** `ask`: this is to be sent; `answered`: what the person said; `null`: nothing will come of it. */
export type Asked =
  | { readonly kind: "ask"; readonly result: InputRequiredResult }
  | { readonly kind: "answered"; readonly value: number }
  | null;

/** Asks for a number once; a person who declines, or answers with none, is not asked again. */
export function askPerson(
  question: Question,
  context: ServerContext,
  initialized: ClientCapabilities | undefined,
): Asked {
  const { argument, message, title, minimum, maximum, suggested } = question;
  const response = inputResponse(context.mcpReq.inputResponses, argument);
  if (response.kind === "missing") {
    if (!canAsk(context, initialized)) return null;
    const answer = { type: "integer", title, minimum, maximum, default: suggested } as const;
    const requestedSchema = {
      type: "object",
      properties: { [argument]: answer },
      required: [argument],
    } as const;
    const ask = inputRequired.elicit({
      message,
      requestedSchema: { ...requestedSchema, required: [...requestedSchema.required] },
    });
    return { kind: "ask", result: inputRequired({ inputRequests: { [argument]: ask } }) };
  }
  if (response.kind !== "elicit" || response.action !== "accept") return null;
  const value = z.int().min(minimum).max(maximum).safeParse(response.content?.[argument]);
  return value.success ? { kind: "answered", value: value.data } : null;
}
