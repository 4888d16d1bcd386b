/** GET and HEAD of a task's audio (docs/contract.md, Download). */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { GENERATIONS_PATH } from "../../contract/wire.ts";
import { errorBody, ServiceError } from "../service-error.ts";
import { readByteRange } from "./byte-range.ts";
import { requestedTask } from "./query-route.ts";
import type { Site } from "./site.ts";

/**
 * Answers 200, 206 or 416. HEAD answers like GET, including ranges, but without the body: the contract lists
 * `Range` for both. A failed task's audio will never be ready; the contract has no code for that, so it is 409
 * `not_ready` like that of any task without audio. The service sends no validators, so an `If-Range` can match
 * nothing, and the whole is sent.
 */
async function serveContent(site: Site, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { state } = requestedTask(site, request);
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
  const range = readByteRange(header, sizeBytes);
  if (range === "unsatisfiable") {
    // No code is stated for 416 and its body is not shown; the shape is that of every other refusal.
    return reply
      .code(416)
      .header("content-range", `bytes */${sizeBytes}`)
      .send(errorBody("range_not_satisfiable", "The byte range is invalid or cannot be satisfied."));
  }
  const { start, end } = range === "whole" ? { start: 0, end: sizeBytes - 1 } : range;
  reply.type("application/octet-stream").header("content-length", end - start + 1);
  if (range !== "whole") reply.code(206).header("content-range", `bytes ${start}-${end}/${sizeBytes}`);
  return reply.send(request.method === "HEAD" ? undefined : state.audio.subarray(start, end + 1));
}

export function contentRoute(app: FastifyInstance, site: Site): void {
  app.route({
    method: ["GET", "HEAD"],
    url: `${GENERATIONS_PATH}/:id/content`,
    handler: async (request, reply) => serveContent(site, request, reply),
  });
}
