/** Reads a JSON body. Checks its size first (413), then its content type, encoding and JSON (400). */
import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { MAX_REQUEST_BODY_BYTES } from "../../contract/service-limits.ts";
import { invalidRequestError, ServiceError } from "../sandbox-errors.ts";

/**
 * Maximum number of bytes to read from an oversized body before answering 413. The body is read because a connection
 * that closes with unread bytes is reset, and the client then loses the answer.
 */
const MAX_DRAIN_BYTES = 16 * 1024 * 1024;

const DECLARED_TYPE = "declaredContentType";

async function readBounded(payload: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let receivedBytes = 0;
  const received: AsyncIterable<unknown> = payload;
  try {
    for await (const chunk of received) {
      if (!Buffer.isBuffer(chunk)) throw new TypeError("not bytes");
      receivedBytes += chunk.byteLength;
      if (receivedBytes <= MAX_REQUEST_BODY_BYTES) chunks.push(chunk);
      else chunks.length = 0;
      if (receivedBytes > MAX_DRAIN_BYTES) break;
    }
  } catch {
    // The client closed the connection. This is not reported as an internal error.
    throw invalidRequestError("The body broke off.");
  }
  if (receivedBytes > MAX_REQUEST_BODY_BYTES) {
    throw new ServiceError("request_too_large", `The body exceeds ${MAX_REQUEST_BODY_BYTES} bytes.`);
  }
  return Buffer.concat(chunks);
}

/**
 * Gives every route of `app` the request body as bytes, at most 32 KiB. Removes the content type first: fastify would
 * check it before the size, but the contract requires 413 before 400.
 */
export function registerBodyParser(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", async (_request: FastifyRequest, payload: IncomingMessage) =>
    readBounded(payload),
  );
  app.decorateRequest(DECLARED_TYPE);
  app.addHook("onRequest", async (request) => {
    request.setDecorator(DECLARED_TYPE, request.headers["content-type"]);
    delete request.headers["content-type"];
  });
}

/**
 * Refuses a body that is compressed or whose content type is not JSON (docs/contract.md, Create). Ignores
 * parameters such as `charset`, because JSON is always UTF-8.
 *
 * @throws ServiceError invalid_request
 */
export function requireJsonContentType(request: FastifyRequest): void {
  const declared = request.getDecorator<string | undefined>(DECLARED_TYPE) ?? "";
  const mediaType = declared.split(";", 1)[0]?.trim().toLowerCase();
  if (mediaType !== "application/json")
    throw invalidRequestError("The content type must be application/json.");
  const encoding = request.headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
  if (encoding !== "identity") throw invalidRequestError("The body must not be compressed.");
}

/**
 * Parses the body as JSON.
 *
 * @throws ServiceError invalid_request if it is absent, not UTF-8 or not JSON
 */
export function parseJsonBody(request: FastifyRequest): unknown {
  if (!Buffer.isBuffer(request.body) || request.body.byteLength === 0) {
    throw invalidRequestError("The body is missing.");
  }
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(request.body));
    return value;
  } catch {
    throw invalidRequestError("The body is not valid JSON.");
  }
}
