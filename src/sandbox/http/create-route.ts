/** Serves POST /api/v1/audio/generations: checks a submission in the contract's order (docs/contract.md, Create). */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import { type AudioInput, audioInputSchema, normalizeAudioInput } from "../../contract/audio-input.ts";
import { GENERATIONS_PATH, IDEMPOTENCY_KEY_HEADER, IDEMPOTENCY_KEY_PATTERN } from "../../contract/wire.ts";
import { invalidRequestError, rateLimitedError } from "../sandbox-errors.ts";
import { buildTaskBody } from "../tasks/task.ts";
import { getAuthenticatedAccount } from "./authentication.ts";
import type { RouteDeps } from "./query-route.ts";
import { parseJsonBody, requireJsonContentType } from "./request-body.ts";

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
 * The checks for 401, 503 and 413 run before this handler. The handler checks in this order:
 *
 * - 400
 * - 429 rate_limit; only submissions that passed the check for 400 count toward the 6 a minute
 * - whether the idempotency key was used before: answers a replay, or idempotency_conflict
 * - 403, then 402
 * - 429 concurrency_limit, first for the account, then for the service's capacity
 */
export function registerCreateRoute(app: FastifyInstance, deps: RouteDeps): void {
  app.post(GENERATIONS_PATH, async (request, reply) => {
    const account = getAuthenticatedAccount(request);
    const idempotencyKey = parseIdempotencyKey(request);
    requireJsonContentType(request);
    const input = normalizeAudioInput(parseAudioInput(request));
    if (!deps.limits.admitSubmission(account.id)) throw rateLimitedError();
    const { task, replayed } = deps.tasks.createOrReplay(account, idempotencyKey, input);
    if (!replayed) deps.processor.start(task);
    return reply.code(202).send(buildTaskBody(task, deps.baseUrl()));
  });
}
