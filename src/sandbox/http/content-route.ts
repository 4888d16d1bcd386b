/** Serves GET and HEAD of a task's audio (docs/contract.md, Download). */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { GENERATIONS_PATH } from "../../contract/wire.ts";
import { buildErrorBody, ServiceError } from "../sandbox-errors.ts";
import { parseByteRange } from "./byte-range.ts";
import type { RouteDeps } from "./query-route.ts";
import { admitAndFindTask } from "./query-route.ts";

/**
 * Answers 200, 206 or 416.
 *
 * - HEAD answers like GET, without the body. HEAD supports ranges, because the contract lists `Range` for both methods.
 * - A failed task gets 409 `not_ready`, like a task that is not ready yet, because the contract has no code for audio
 *   that will never exist.
 * - A request with `If-Range` gets the whole file, because the service sends no validators that the condition could
 *   match.
 */
async function serveContent(
  deps: RouteDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { state } = admitAndFindTask(deps, request);
  if (state.status !== "succeeded") {
    throw new ServiceError(
      "not_ready",
      state.status === "failed"
        ? "The task failed and has no audio."
        : "The audio is not ready yet. Query the task until it has succeeded.",
    );
  }
  const sizeBytes = state.audio.byteLength;
  reply.header("accept-ranges", "bytes");
  const header = request.headers["if-range"] === undefined ? request.headers.range : undefined;
  const range = parseByteRange(header, sizeBytes);
  if (range === "unsatisfiable") {
    // The contract states no error code and no body for 416, so the body has the shape of every other error.
    return reply
      .code(416)
      .header("content-range", `bytes */${sizeBytes}`)
      .send(buildErrorBody("range_not_satisfiable", "The byte range is invalid or cannot be satisfied."));
  }
  const { start, end } = range === "whole" ? { start: 0, end: sizeBytes - 1 } : range;
  reply.type("application/octet-stream").header("content-length", end - start + 1);
  if (range !== "whole") reply.code(206).header("content-range", `bytes ${start}-${end}/${sizeBytes}`);
  return reply.send(request.method === "HEAD" ? undefined : state.audio.subarray(start, end + 1));
}

/**
 * Adds the route for a task's audio. Call `registerAuthentication` for the app first, because the route needs the
 * account of each request.
 */
export function registerContentRoute(app: FastifyInstance, deps: RouteDeps): void {
  app.route({
    method: ["GET", "HEAD"],
    url: `${GENERATIONS_PATH}/:id/content`,
    handler: async (request, reply) => serveContent(deps, request, reply),
  });
}
