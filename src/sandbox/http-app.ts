/** Owns the HTTP server: which routes it has, and that every answer has the contract's shape; knows no rule of a route. */
import type { Socket } from "node:net";
import fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from "fastify";
import { authenticate, requireAccount } from "./authentication.ts";
import { contentRoute } from "./content-route.ts";
import { createRoute } from "./create-route.ts";
import { faultsRoute } from "./faults-route.ts";
import { queryRoute } from "./query-route.ts";
import { readBodies } from "./request-body.ts";
import type { Site } from "./routing.ts";
import { errorBody, invalidRequest, notFound, ServiceError } from "./service-error.ts";

/** Ids longer than any that is given out still reach the route, to be counted and not found there. */
const ID_MAX_CHARACTERS = 1024;
/** A request whose head and body have not arrived by then is given up. */
const REQUEST_TIMEOUT_MS = 60_000;

/** What a client reads of an error. What it must not read (a broken disk, a bug of ours) it sees as 503. */
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

/** Answers what the HTTP parser rejects, below any route: no headers were understood, so no key could be checked. */
function refuseUnparsable(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const body = JSON.stringify(errorBody("invalid_request", "The request is not valid HTTP."));
  socket.end(
    "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json; charset=utf-8\r\nCache-Control: no-store\r\n" +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

/** The app, not yet listening. */
export function buildHttpApp(site: Site): FastifyInstance {
  /** Neither an unknown path nor a method that a path does not know is told apart, nor shown without a key. */
  const refuseUnknown = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    try {
      requireAccount(site.directory, request);
      return refuse(notFound(), reply);
    } catch (error) {
      return refuse(error instanceof ServiceError ? error : notFound(), reply);
    }
  };
  const app = fastify({
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    return503OnClosing: false,
    requestTimeout: REQUEST_TIMEOUT_MS,
    routerOptions: { maxParamLength: ID_MAX_CHARACTERS },
    clientErrorHandler: refuseUnparsable,
    // Paths that cannot be decoded: there is no task of that id.
    frameworkErrors: (_error, request, reply) => {
      void refuseUnknown(request, reply);
    },
  });
  app.addHook("onRequest", async (request, reply) => {
    reply.header("cache-control", "no-store");
    if (request.is404) requireAccount(site.directory, request);
  });
  readBodies(app);
  app.setErrorHandler<FastifyError>((error, _request, reply) => refuse(asServiceError(error, site), reply));
  app.setNotFoundHandler(refuseUnknown);
  faultsRoute(app, site.faults);
  app.register(async (api) => {
    authenticate(api, site.directory, site.faults);
    createRoute(api, site);
    queryRoute(api, site);
    contentRoute(api, site);
  });
  return app;
}
