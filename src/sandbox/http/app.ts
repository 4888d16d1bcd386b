/**
 * Builds the HTTP server: registers its routes, among them the one that sets faults, and gives every error the contract's
 * shape.
 */
import fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from "fastify";
import { type Faults, faultsSchema } from "../faults.ts";
import { buildErrorBody, invalidRequestError, notFoundError, ServiceError } from "../sandbox-errors.ts";
import { parseJsonBody, registerBodyParser } from "./request-body.ts";
import { type RouteDeps, registerRoutes } from "./routes.ts";

/**
 * Maximum length of an id that the router accepts. It exceeds the longest request head, so every id reaches its route.
 * The route counts the request toward the limits, and answers 404 to an unknown id.
 */
const MAX_ID_CHARACTERS = 65_536;
/** Time limit for receiving the head and body of a request. */
const REQUEST_TIMEOUT_MS = 60_000;

const UNAVAILABLE = {
  api_unavailable: "The API is not enabled.",
  temporarily_unavailable: "The service is temporarily unavailable.",
};

/** Converts any error to the `ServiceError` that clients see. An internal error, such as a bug, becomes a 503. */
function toServiceError(error: FastifyError, deps: RouteDeps): ServiceError {
  if (error instanceof ServiceError) return error;
  if (error.statusCode !== undefined && error.statusCode < 500) {
    return invalidRequestError("The request could not be understood.");
  }
  deps.onInternalError(error);
  return new ServiceError("temporarily_unavailable", UNAVAILABLE.temporarily_unavailable);
}

function sendError(error: ServiceError, reply: FastifyReply): FastifyReply {
  return reply.code(error.status).headers(error.headers).send(buildErrorBody(error.code, error.message));
}

/** Builds the app without starting to listen. */
export function buildHttpApp(deps: RouteDeps): FastifyInstance {
  const app = fastify({
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    return503OnClosing: false,
    requestTimeout: REQUEST_TIMEOUT_MS,
    routerOptions: { maxParamLength: MAX_ID_CHARACTERS },
  });
  app.addHook("onRequest", async (request, reply) => {
    reply.header("cache-control", "no-store");
    // A request without a valid key gets 401, even if its path or method is unknown.
    if (request.is404) deps.accountRegistry.requireAccount(request.headers.authorization);
  });
  registerBodyParser(app);
  app.setErrorHandler<FastifyError>((error, _request, reply) =>
    sendError(toServiceError(error, deps), reply),
  );
  app.setNotFoundHandler((_request: FastifyRequest, reply: FastifyReply) =>
    sendError(notFoundError(), reply),
  );
  registerFaultsRoute(app, deps.faults);
  app.register(async (api) => {
    // Before any other check come 401 and then 503 (docs/contract.md, Authentication).
    api.addHook("onRequest", async (request) => {
      deps.accountRegistry.requireAccount(request.headers.authorization);
      if (deps.faults.unavailable !== null)
        throw new ServiceError(deps.faults.unavailable, UNAVAILABLE[deps.faults.unavailable]);
    });
    registerRoutes(api, deps);
  });
  return app;
}

/**
 * Answers 204 to the body `{ fail_next_tasks?, unavailable?, capacity_full? }`, and 400 to any other body. Refuses
 * requests with an `Origin` header, because browsers send this header with every POST. Otherwise, a web page in a
 * browser on this machine could set faults.
 */
function registerFaultsRoute(app: FastifyInstance, faults: Faults): void {
  app.post("/sandbox/faults", async (request, reply) => {
    if (request.headers.origin !== undefined) throw invalidRequestError("Web pages may not set faults.");
    const settings = faultsSchema.safeParse(parseJsonBody(request));
    if (!settings.success) {
      throw invalidRequestError(
        "The body may hold fail_next_tasks (a whole number), unavailable (api_unavailable, " +
          "temporarily_unavailable or null) and capacity_full (true or false), and nothing else.",
      );
    }
    faults.apply(settings.data);
    return reply.code(204).send();
  });
}
