/**
 * Serves GET /api/v1/audio/generations/{id}, finds a caller's task by id (docs/contract.md, Query), and lists what every
 * route depends on.
 */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import { GENERATIONS_PATH } from "../../contract/wire.ts";
import type { AccountRegistry } from "../accounts/account-registry.ts";
import type { AccountLimits } from "../accounts/limit-windows.ts";
import type { Faults } from "../faults.ts";
import { notFoundError, rateLimitedError } from "../sandbox-errors.ts";
import { buildTaskBody, type Task } from "../tasks/task.ts";
import type { TaskProcessor } from "../tasks/task-processor.ts";
import type { TaskRegistry } from "../tasks/task-registry.ts";
import { getAuthenticatedAccount } from "./authentication.ts";

const idParameter = z.object({ id: z.string() });

/**
 * Finds the task of a query or download. Counts the request toward the limit of 60 queries and downloads a minute.
 *
 * @throws ServiceError rate_limit or not_found. Another account's task gets the same not_found as an id that does not
 *   exist (docs/contract.md, Query).
 */
export function admitAndFindTask(deps: RouteDeps, request: FastifyRequest): Task {
  const account = getAuthenticatedAccount(request);
  if (!deps.limits.admitRead(account.id)) throw rateLimitedError();
  const task = deps.tasks.find(idParameter.parse(request.params).id);
  if (task === undefined || task.account !== account) throw notFoundError();
  return task;
}

/**
 * Adds the route for the query of a task. Call `registerAuthentication` for the app first, because the route needs the
 * account of each request.
 */
export function registerQueryRoute(app: FastifyInstance, deps: RouteDeps): void {
  app.get(`${GENERATIONS_PATH}/:id`, async (request, reply) =>
    reply.send(buildTaskBody(admitAndFindTask(deps, request), deps.baseUrl())),
  );
}

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
