/** The HTTP server: its routes, and the contract's shape for every answer. */
import fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from "fastify";
import { errorBody, invalidRequest, notFound, ServiceError } from "../service-error.ts";
import { authenticate, requireAccount } from "./authentication.ts";
import { contentRoute } from "./content-route.ts";
import { createRoute } from "./create-route.ts";
import { faultsRoute } from "./faults-route.ts";
import { queryRoute } from "./query-route.ts";
import { readBodies } from "./request-body.ts";
import type { Site } from "./site.ts";

/** More than a request's head can hold: ids of any length reach the route, to be counted and not found there. */
const ID_MAX_CHARACTERS = 65_536;
/** A request whose head and body have not arrived by then is given up. */
const REQUEST_TIMEOUT_MS = 60_000;

/** Renders an error for clients. Internal errors (a broken disk, a bug) appear as 503. */
function asServiceError(error: FastifyError, site: Site): ServiceError {
  if (error instanceof ServiceError) return error;
  if (error.statusCode !== undefined && error.statusCode < 500) {
    return invalidRequest("The request could not be understood.");
  }
  site.onFault(error);
  return new ServiceError("temporarily_unavailable", "The service is temporarily unavailable.");
}

function refuse(error: ServiceError, reply: FastifyReply): FastifyReply {
  return reply.code(error.status).headers(error.headers).send(errorBody(error.code, error.message));
}

/** The app, not yet listening. */
export function buildHttpApp(site: Site): FastifyInstance {
  const app = fastify({
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    return503OnClosing: false,
    requestTimeout: REQUEST_TIMEOUT_MS,
    routerOptions: { maxParamLength: ID_MAX_CHARACTERS },
  });
  app.addHook("onRequest", async (request, reply) => {
    reply.header("cache-control", "no-store");
    // Neither an unknown path nor a method that a path does not know is shown without a key.
    if (request.is404) requireAccount(site.directory, request);
  });
  readBodies(app);
  app.setErrorHandler<FastifyError>((error, _request, reply) => refuse(asServiceError(error, site), reply));
  app.setNotFoundHandler((_request: FastifyRequest, reply: FastifyReply) => refuse(notFound(), reply));
  faultsRoute(app, site.faults);
  app.register(async (api) => {
    authenticate(api, site.directory, site.faults);
    createRoute(api, site);
    queryRoute(api, site);
    contentRoute(api, site);
  });
  return app;
}
