/** Asks the person a tool's question through the client, in the old and in the new version of the protocol. */
import {
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Question } from "../tools/tool.ts";
import { type Client, canShowForms } from "./client.ts";

/** Builds the form. Clients with any protocol version get the same form. */
function buildForm({ argument, message, title, minimum, maximum, suggested }: Question) {
  const field = { type: "integer" as const, title, minimum, maximum, default: suggested };
  const properties = { [argument]: field };
  return { message, requestedSchema: { type: "object" as const, properties, required: [argument] } };
}

/**
 * Asks a client with an earlier protocol version. Does not use the SDK's own function, because that function waits ten
 * minutes for a client that never answers. The SDK's function also turns a client's refusal into an error, which would
 * replace the tool's result and the plan in it.
 *
 * @returns `null` if no answer came in time or the client refused to ask
 */
async function askNow(question: Question, context: ServerContext, leftMs: number): Promise<unknown> {
  if (leftMs <= 0) return null;
  const { signal } = context.mcpReq;
  const request = { method: "elicitation/create" as const, params: buildForm(question) };
  try {
    return await context.mcpReq.send(request, { signal, timeout: leftMs, maxTotalTimeout: leftMs });
  } catch {
    signal.throwIfAborted();
    return null;
  }
}

/**
 * Asks for a number once. Does not ask again if the person declines or gives no number.
 *
 * @param leftMs remaining time of the call's wait
 * @returns the person's number; the result that makes the client ask the person; `null` if the client cannot ask, or if
 *   the person gave no valid number in time
 */
export async function askPerson(
  question: Question,
  context: ServerContext,
  client: Client,
  leftMs: number,
): Promise<number | InputRequiredResult | null> {
  const { argument, minimum, maximum } = question;
  let responses = context.mcpReq.inputResponses;
  if (inputResponse(responses, argument).kind === "missing") {
    if (!canShowForms(client)) return null;
    if (client.isModern === true) {
      const ask = inputRequired.elicit(buildForm(question));
      return inputRequired({ inputRequests: { [argument]: ask } });
    }
    responses = { [argument]: await askNow(question, context, leftMs) };
  }
  const response = inputResponse(responses, argument);
  if (response.kind !== "elicit" || response.action !== "accept") return null;
  return z.int().min(minimum).max(maximum).safeParse(response.content?.[argument]).data ?? null;
}
