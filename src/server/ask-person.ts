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
import type { Client } from "./client.ts";

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

/** The question as both eras send it. */
function formOf({ argument, message, title, minimum, maximum, suggested }: Question) {
  const answer = { type: "integer" as const, title, minimum, maximum, default: suggested };
  const properties = { [argument]: answer };
  return { message, requestedSchema: { type: "object" as const, properties, required: [argument] } };
}

/**
 * Asks a client of the era with handshakes. The official package would do it, but waits ten minutes for a client that
 * never answers, and answers the call in its own words where the client refuses; either way the plan would be lost.
 *
 * @returns `null`: no answer came in time, or the client refused to ask
 */
async function askNow(question: Question, context: ServerContext, leftMs: number): Promise<unknown> {
  if (leftMs <= 0) return null;
  const { signal } = context.mcpReq;
  const request = { method: "elicitation/create" as const, params: formOf(question) };
  try {
    return await context.mcpReq.send(request, { signal, timeout: leftMs, maxTotalTimeout: leftMs });
  } catch {
    signal.throwIfAborted();
    return null;
  }
}

/**
 * Asks for a number once; a person who declines, or answers with none, is not asked again.
 *
 * @param leftMs of the call's window
 */
export async function askPerson(
  question: Question,
  context: ServerContext,
  client: Client,
  leftMs: number,
): Promise<Asked> {
  const { argument, minimum, maximum } = question;
  let responses = context.mcpReq.inputResponses;
  if (inputResponse(responses, argument).kind === "missing") {
    if (!canAsk(context, client.capabilities)) return null;
    if (client.isModern === true) {
      const ask = inputRequired.elicit(formOf(question));
      return { kind: "ask", result: inputRequired({ inputRequests: { [argument]: ask } }) };
    }
    responses = { [argument]: await askNow(question, context, leftMs) };
  }
  const response = inputResponse(responses, argument);
  if (response.kind !== "elicit" || response.action !== "accept") return null;
  const value = z.int().min(minimum).max(maximum).safeParse(response.content?.[argument]);
  return value.success ? { kind: "answered", value: value.data } : null;
}
