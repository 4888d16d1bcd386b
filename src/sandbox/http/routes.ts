/** Serves the service's three routes: create, query and download (docs/contract.md). */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { type AudioInput, audioInputSchema, normalizeAudioInput } from "../../contract/audio-input.ts";
import { GENERATIONS_PATH, IDEMPOTENCY_KEY_HEADER, IDEMPOTENCY_KEY_PATTERN } from "../../contract/wire.ts";
import type { AccountRegistry } from "../accounts/account-registry.ts";
import type { AccountLimits } from "../accounts/limit-windows.ts";
import type { Faults } from "../faults.ts";
import {
  buildErrorBody,
  invalidRequestError,
  notFoundError,
  rateLimitedError,
  ServiceError,
} from "../sandbox-errors.ts";
import { buildTaskBody, type Task } from "../tasks/task.ts";
import type { TaskProcessor } from "../tasks/task-processor.ts";
import type { TaskRegistry } from "../tasks/task-registry.ts";
import { parseByteRange } from "./byte-range.ts";
import { parseJsonBody, requireJsonContentType } from "./request-body.ts";

export interface RouteDeps {
  readonly accountRegistry: AccountRegistry;
  readonly faults: Faults;
  readonly limits: AccountLimits;
  readonly tasks: TaskRegistry;
  readonly processor: TaskProcessor;
  /** Returns the server's address, which is known only after the server has started to listen. */
  readonly baseUrl: () => string;
  /** Receives internal errors, which clients must not see. */
  readonly onInternalError: (error: unknown) => void;
}

function parseIdempotencyKey(request: FastifyRequest): string {
  const key = request.headers[IDEMPOTENCY_KEY_HEADER];
  if (key === undefined) throw invalidRequestError("The Idempotency-Key header is required.");
  if (typeof key !== "string" || !IDEMPOTENCY_KEY_PATTERN.test(key)) {
    throw invalidRequestError("The Idempotency-Key must be 1 to 128 characters of A-Z a-z 0-9 . _ : -");
  }
  return key;
}

/**
 * Parses the body as AudioInput.
 *
 * @throws ServiceError invalid_request, whose message names the first invalid field
 */
function parseAudioInput(request: FastifyRequest): AudioInput {
  const parsed = audioInputSchema.safeParse(parseJsonBody(request));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = issue === undefined ? "" : z.core.toDotPath(issue.path);
  throw invalidRequestError(`${field === "" ? "The body" : field}: ${issue?.message ?? "is not valid"}`);
}

/**
 * Answers 202 with the new task. A replay gets the original task, whatever its state.
 *
 * The checks for 401, 503 and 413 run before this handler. The handler checks in this order (docs/contract.md, Create):
 *
 * - 400
 * - 429 rate_limit; only submissions that passed the check for 400 count toward the 6 a minute
 * - whether the idempotency key was used before: answers a replay, or idempotency_conflict
 * - 403, then 402
 * - 429 concurrency_limit, first for the account, then for the service's capacity
 */
function create(deps: RouteDeps, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const account = deps.accountRegistry.requireAccount(request.headers.authorization);
  const idempotencyKey = parseIdempotencyKey(request);
  requireJsonContentType(request);
  const input = normalizeAudioInput(parseAudioInput(request));
  if (!deps.limits.admitSubmission(account.id)) throw rateLimitedError();
  const { task, replayed } = deps.tasks.createOrReplay(account, idempotencyKey, input);
  if (!replayed) deps.processor.start(task);
  return reply.code(202).send(buildTaskBody(task, deps.baseUrl()));
}

const idParameter = z.object({ id: z.string() });

/**
 * Finds the task of a query or download. Counts the request toward the limit of 60 queries and downloads a minute.
 *
 * @throws ServiceError rate_limit or not_found. Another account's task gets the same not_found as an id that does not
 *   exist (docs/contract.md, Query).
 */
function admitAndFindTask(deps: RouteDeps, request: FastifyRequest): Task {
  const account = deps.accountRegistry.requireAccount(request.headers.authorization);
  if (!deps.limits.admitRead(account.id)) throw rateLimitedError();
  const task = deps.tasks.find(idParameter.parse(request.params).id);
  if (task === undefined || task.account !== account) throw notFoundError();
  return task;
}

/**
 * Serves GET and HEAD of a task's audio (docs/contract.md, Download). Answers 200, 206 or 416.
 *
 * - HEAD answers like GET, without the body. HEAD supports ranges, because the contract lists `Range` for both methods.
 * - A failed task gets 409 `not_ready`, like a task that is not ready yet, because the contract has no code for audio
 *   that will never exist.
 * - A request with `If-Range` gets the whole file, because the service sends no validators that the condition could
 *   match.
 */
function download(deps: RouteDeps, request: FastifyRequest, reply: FastifyReply): FastifyReply {
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

/** Adds the routes. The app refuses invalid API keys before their bodies are read. */
export function registerRoutes(app: FastifyInstance, deps: RouteDeps): void {
  app.post(GENERATIONS_PATH, async (request, reply) => create(deps, request, reply));
  app.get(`${GENERATIONS_PATH}/:id`, async (request, reply) =>
    reply.send(buildTaskBody(admitAndFindTask(deps, request), deps.baseUrl())),
  );
  app.route({
    method: ["GET", "HEAD"],
    url: `${GENERATIONS_PATH}/:id/content`,
    handler: async (request, reply) => download(deps, request, reply),
  });
}
