/**
 * Sends progress notifications. The protocol requires that each notification has a greater number than the previous
 * one, even if no further part was saved.
 */
import type { ServerContext } from "@modelcontextprotocol/server";
import type { ProgressCount } from "../generation/call.ts";
import type { Log } from "../log.ts";
import type { ToolCall } from "../tools/tool.ts";

/**
 * Returns the progress number of a message. The first message with a new `done` gets the number `done`, or `total`
 * minus 0.5 if everything is done. Further messages with the same `done` get greater numbers, which stay within 0.5 of
 * the first number. So no number exceeds `total`.
 *
 * @param news position of the message among those with the same `done`, from 1
 */
function progressNumber(news: number, { done, total }: ProgressCount): number {
  const part = 0.5 / news;
  return done < total ? done + 0.5 - part : total - part;
}

/** Returns a function that sends progress if the client gave a token, and does nothing otherwise. */
export function progressSender(context: ServerContext, log: Log): ToolCall["onProgress"] {
  const progressToken = context.mcpReq._meta?.progressToken;
  if (progressToken === undefined) return () => undefined;
  let progress = 0;
  let news = 0;
  let lastDone = -1;
  return (message, share) => {
    news = share?.done === lastDone ? news + 1 : 1;
    lastDone = share?.done ?? -1;
    // If a part is removed, `done` gets smaller, but the number must still grow.
    const next = share === undefined ? progress + 1 : progressNumber(news, share);
    progress = next > progress || (progress === 0 && share !== undefined) ? next : progress + 1e-6;
    const total = share === undefined ? {} : { total: share.total };
    context.mcpReq
      .notify({ method: "notifications/progress", params: { progressToken, progress, ...total, message } })
      .catch((cause: unknown) => log.debug(`a progress notification could not be sent: ${String(cause)}`));
  };
}
