/** Sends progress notifications, whose number must grow each time, also while the same parts are saved. */
import type { ServerContext } from "@modelcontextprotocol/server";
import type { Share } from "../generation/job/wait-for-job.ts";
import type { Log } from "../log.ts";
import type { ToolCall } from "../tools/tool.ts";

/**
 * A number for the nth news about a share: `done` at first, then a little more with each, by less than a half; never
 * more than `total`.
 */
function grownBy(news: number, { done, total }: Share): number {
  const part = 0.5 / news;
  return done < total ? done + 0.5 - part : total - part;
}

/** Sends only where the client gave a token. */
export function progressSender(context: ServerContext, log: Log): ToolCall["onProgress"] {
  const progressToken = context.mcpReq._meta?.progressToken;
  if (progressToken === undefined) return () => undefined;
  let progress = 0;
  let news = 0;
  let lastDone = -1;
  return (message, share) => {
    news = share?.done === lastDone ? news + 1 : 1;
    lastDone = share?.done ?? -1;
    // A part that was taken away again makes `done` smaller; the number grows all the same.
    const next = share === undefined ? progress + 1 : grownBy(news, share);
    progress = next > progress || (progress === 0 && share !== undefined) ? next : progress + 1e-6;
    const total = share === undefined ? {} : { total: share.total };
    context.mcpReq
      .notify({ method: "notifications/progress", params: { progressToken, progress, ...total, message } })
      .catch((cause: unknown) => log.debug(`a progress notification could not be sent: ${String(cause)}`));
  };
}
