/**
 * Sends progress notifications. The protocol requires that each notification has a greater number than the previous
 * one, even if no further part was saved.
 */
import type { ServerContext } from "@modelcontextprotocol/server";
import type { Log } from "../log.ts";
import type { ProgressCount } from "../requests/call.ts";
import type { ToolCall } from "../tools/tool.ts";

/**
 * Returns the progress number of the n-th message in a row with the same `done`. The numbers rise from `done` towards
 * `done` + 0.5. For example, while 2 of 5 parts are done, they are 2, 2.25, 2.33 and so on. Once all parts are done,
 * the numbers rise towards `total`. For example, with 5 parts, they are 4.5, 4.75, 4.83 and so on.
 *
 * @param messageIndex n, from 1
 */
function computeProgress(messageIndex: number, { done, total }: ProgressCount): number {
  const remainder = 0.5 / messageIndex;
  return done < total ? done + 0.5 - remainder : total - remainder;
}

/** Returns a function that sends progress if the client gave a token, and does nothing otherwise. */
export function createProgressSender(context: ServerContext, log: Log): ToolCall["onProgress"] {
  const progressToken = context.mcpReq._meta?.progressToken;
  if (progressToken === undefined) return () => undefined;
  let progress = 0;
  let messageIndex = 0;
  let lastDone = -1;
  return (message, count) => {
    messageIndex = count?.done === lastDone ? messageIndex + 1 : 1;
    lastDone = count?.done ?? -1;
    // `done` gets smaller if a part is removed. Even then, the progress number must grow.
    const next = count === undefined ? progress + 1 : computeProgress(messageIndex, count);
    progress = next > progress || (progress === 0 && count !== undefined) ? next : progress + 1e-6;
    const total = count === undefined ? {} : { total: count.total };
    context.mcpReq
      .notify({ method: "notifications/progress", params: { progressToken, progress, ...total, message } })
      .catch((cause: unknown) => log.debug(`a progress notification could not be sent: ${String(cause)}`));
  };
}
