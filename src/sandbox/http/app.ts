/** The HTTP server: its routes, and the contract's shape for every answer, also to what is no valid request. */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
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

/** Refuses what comes to no route: all of the answer, and then the end of the connection. */
function refuseOnSocket(error: ServiceError, socket: Duplex): void {
  const body = JSON.stringify(errorBody(error.code, error.message));
  const reason = STATUS_CODES[error.status] ?? "";
  socket.end(
    `HTTP/1.1 ${error.status} ${reason}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Cache-Control: no-store\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  );
}

/** Answers what the HTTP parser rejects, below any route: no headers were understood, so no key could be checked. */
function refuseUnparsable(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === "ECONNRESET" || !socket.writable) socket.destroy();
  else refuseOnSocket(invalidRequest("The request is not valid HTTP."), socket);
}

/** A path that cannot be decoded stands for itself: an id of that text reaches the route, to be counted and not found. */
function decodablePath(request: { readonly url?: string | undefined }): string {
  const url = request.url ?? "/";
  const [path = ""] = url.split(/[?#]/, 1);
  try {
    decodeURIComponent(path);
    return url;
  } catch {
    return `${path.replaceAll("%", "%25")}${url.slice(path.length)}`;
  }
}

/** HTTP/1.1 demands it; the check of Node's own answers with an empty body. */
function requireHost(request: FastifyRequest): void {
  if (request.raw.httpVersion === "1.1" && request.headers.host === undefined) {
    throw invalidRequest("The Host header is required.");
  }
}

/** The app, not yet listening. */
export function buildHttpApp(site: Site): FastifyInstance {
  /** Neither an unknown path nor a method that a path does not know is told apart, nor shown without a key. */
  const refusalOfUnknown = (request: Pick<FastifyRequest, "headers">): ServiceError => {
    try {
      requireAccount(site.directory, request);
      return notFound();
    } catch (error) {
      return error instanceof ServiceError ? error : notFound();
    }
  };
  const refuseUnknown = (request: FastifyRequest, reply: FastifyReply): FastifyReply =>
    refuse(refusalOfUnknown(request), reply);
  const app = fastify({
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    return503OnClosing: false,
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: { requireHostHeader: false },
    rewriteUrl: decodablePath,
    routerOptions: { maxParamLength: ID_MAX_CHARACTERS },
    clientErrorHandler: refuseUnparsable,
    // Targets that are no path at all, such as `OPTIONS *`; no hook runs for them.
    frameworkErrors: (_error, request, reply) => {
      void refuseUnknown(request, reply.header("cache-control", "no-store"));
    },
  });
  // Left to itself Node answers these two with an empty body, or with none.
  app.server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    app.server.emit("request", request, response);
  });
  app.server.on("connect", (request: IncomingMessage, socket: Duplex) => {
    socket.on("error", () => socket.destroy());
    refuseOnSocket(refusalOfUnknown(request), socket);
  });
  app.addHook("onRequest", async (request, reply) => {
    reply.header("cache-control", "no-store");
    requireHost(request);
    if (request.is404) requireAccount(site.directory, request);
  });
  readBodies(app);
  app.setErrorHandler<FastifyError>((error, request, reply) =>
    // The framework has demands of its own on some methods, which no path here knows.
    request.is404 && !(error instanceof ServiceError)
      ? refuseUnknown(request, reply)
      : refuse(asServiceError(error, site), reply),
  );
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
