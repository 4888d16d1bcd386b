/** Whether a request may be answered with a task: its own words decide, and nothing that was said before it. */
import {
  CLIENT_CAPABILITIES_META_KEY,
  MissingRequiredClientCapabilityError,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { TASKS_EXTENSION } from "./extension.ts";

const declaring = z.object({
  [CLIENT_CAPABILITIES_META_KEY]: z.object({
    extensions: z.object({ [TASKS_EXTENSION]: z.looseObject({}) }),
  }),
});

/** Asked of requests of the era of 2026-07-28 alone: those before it have no such extension. */
export const declaresTasks = (context: ServerContext): boolean =>
  declaring.safeParse(context.mcpReq.envelope).success;

/** @throws ProtocolError -32021, naming what the request would have to declare */
export function requireTasks(context: ServerContext): void {
  if (declaresTasks(context)) return;
  throw new MissingRequiredClientCapabilityError({
    requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } },
  });
}
