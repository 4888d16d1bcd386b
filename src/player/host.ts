/** Exchanges JSON-RPC messages with the host, by postMessage with the parent window only. */
import { type Fields, parseFields, parseText } from "./parse-fields.ts";

/** How long to wait for the host's answer, in milliseconds. */
export const ANSWER_TIMEOUT_MS = 10_000;

/** Thrown if the host refuses or does not answer. Its message is a sentence for people. */
export class HostError extends Error {}

/** Thrown if the host can read resources, but the file is missing or has changed. */
export class FileGoneError extends HostError {
  constructor() {
    super("The file was moved, deleted or changed.");
  }
}

/**
 * Error codes for an unknown resource: -32602 in MCP 2026-07-28 and in this server, -32002 in earlier versions of MCP.
 */
const GONE_CODES = [-32602, -32002];

/** The host's capability that each method needs, and the message if the host lacks it. */
const CAPABILITY_BY_METHOD = {
  "tools/call": ["serverTools", "The chat calls no tools for this page."],
  "resources/read": ["serverResources", "The chat does not provide files."],
  "ui/download-file": ["downloadFile", "The chat saves no files."],
  "ui/message": ["message", "The chat takes no messages."],
} as const;
type HostMethod = keyof typeof CAPABILITY_BY_METHOD;

/** The host's stated capabilities. */
let hostCapabilities: Fields = {};

/**
 * Returns whether the host has stated the capability that a method needs. Returns false until {@link connectToHost} has
 * succeeded.
 */
export const isSupported = (method: HostMethod): boolean =>
  hostCapabilities[CAPABILITY_BY_METHOD[method][0]] !== undefined;

interface PendingRequest {
  resolve(value: Fields): void;
  reject(error: HostError): void;
}

const pendingRequests = new Map<number, PendingRequest>();
let lastId = 0;

const post = (message: Fields): void => window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");

/** Sends a notification to the host. The host does not answer notifications. */
export const notify = (method: string, params: Fields = {}): void => post({ method, params });

const send = (method: string, params: Fields, timeoutMs: number): Promise<Fields> =>
  new Promise((resolve, reject) => {
    lastId += 1;
    const requestId = lastId;
    const finish = (): void => {
      clearTimeout(timer);
      pendingRequests.delete(requestId);
    };
    const timer = setTimeout(() => {
      finish();
      reject(new HostError("The chat does not answer."));
    }, timeoutMs);
    pendingRequests.set(requestId, {
      resolve: (value) => {
        finish();
        resolve(value);
      },
      reject: (error) => {
        finish();
        reject(error);
      },
    });
    post({ id: requestId, method, params });
  });

/**
 * Sends a request.
 *
 * @throws HostError if the host lacks the capability, refuses, or does not answer in time
 */
export async function requestHost(
  method: HostMethod,
  params: Fields,
  timeoutMs = ANSWER_TIMEOUT_MS,
): Promise<Fields> {
  if (!isSupported(method)) throw new HostError(CAPABILITY_BY_METHOD[method][1]);
  return await send(method, params, timeoutMs);
}

/**
 * Initializes the connection and stores the host's capabilities.
 *
 * @returns the host's context
 * @throws HostError
 */
export async function connectToHost(): Promise<Fields> {
  const appInfo = { name: "audio-generation-mcp", version: "1" };
  const params = { protocolVersion: "2026-01-26", appInfo, appCapabilities: {} };
  const answer = await send("ui/initialize", params, ANSWER_TIMEOUT_MS);
  hostCapabilities = parseFields(answer["hostCapabilities"]);
  return parseFields(answer["hostContext"]);
}

/**
 * Calls a tool of the server. Returns a result even if it has `isError`.
 *
 * @throws HostError as {@link requestHost} does
 */
export async function callTool(name: string, args: Fields, timeoutMs?: number): Promise<Fields> {
  return await requestHost("tools/call", { name, arguments: args }, timeoutMs);
}

const toHostError = ({ code, message }: Fields): HostError =>
  GONE_CODES.includes(Number(code))
    ? new FileGoneError()
    : new HostError(parseText(message) || "The chat refused.");

/**
 * Handles messages of the host.
 *
 * @param handlers the handlers of notifications and requests, by method; every request with a handler gets an empty
 *   result
 */
export function listen(handlers: Readonly<Record<string, (params: Fields) => void>>): void {
  window.addEventListener("message", (event) => {
    if (event.source !== window.parent) return;
    const message = parseFields(event.data);
    if (message["jsonrpc"] !== "2.0") return;
    const { id, method } = message;
    if (typeof method !== "string") {
      const pending = typeof id === "number" ? pendingRequests.get(id) : undefined;
      if (message["error"] === undefined) pending?.resolve(parseFields(message["result"]));
      else pending?.reject(toHostError(parseFields(message["error"])));
      return;
    }
    const isKnown = Object.hasOwn(handlers, method);
    if (isKnown) handlers[method]?.(parseFields(message["params"]));
    if (typeof id !== "number" && typeof id !== "string") return;
    if (isKnown || method === "ping") post({ id, result: {} });
    else post({ id, error: { code: -32601, message: "Not known here" } });
  });
}
