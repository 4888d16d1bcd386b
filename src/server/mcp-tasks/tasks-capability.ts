/** Checks whether a request allows a task as the answer. Ignores the capabilities that earlier requests declared. */
import {
  CLIENT_CAPABILITIES_META_KEY,
  MissingRequiredClientCapabilityError,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { TASKS_EXTENSION } from "../extensions.ts";

const declaring = z.object({
  [CLIENT_CAPABILITIES_META_KEY]: z.object({
    extensions: z.object({ [TASKS_EXTENSION]: z.looseObject({}) }),
  }),
});

/**
 * Whether a request declares the tasks extension. Use this only for requests with protocol version 2026-07-28, because
 * the older protocol has no such extension.
 */
export const declaresMcpTasks = (context: ServerContext): boolean =>
  declaring.safeParse(context.mcpReq.envelope).success;

/**
 * Refuses a request that does not declare the tasks extension.
 *
 * @throws ProtocolError -32021, naming the capability that the request must declare
 */
export function requireMcpTasks(context: ServerContext): void {
  if (declaresMcpTasks(context)) return;
  throw new MissingRequiredClientCapabilityError({
    requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } },
  });
}
