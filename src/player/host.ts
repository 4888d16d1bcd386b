/** Talks to the host: JSON-RPC by postMessage with the parent window only. */
import { type Fields, fields, text } from "./received.ts";

/** How long to wait for an answer of the host. */
export const PATIENCE_MS = 10_000;

/** The host refused, or did not answer; the message is a sentence for people. */
export class HostError extends Error {}

/** The host can read resources, but the file is missing or has changed. */
export class GoneError extends HostError {
  constructor() {
    super("The file was moved, deleted or changed.");
  }
}

/** Error codes for an unknown address, from the specification's editions and from this server. */
const GONE = [-32602, -32002];

/** The capability that each method needs, and the message where it is missing. */
const NEEDS = {
  "tools/call": ["serverTools", "The chat calls no tools for this page."],
  "resources/read": ["serverResources", "The chat hands over no files."],
  "ui/download-file": ["downloadFile", "The chat saves no files."],
  "ui/message": ["message", "The chat takes no messages."],
} as const;
type Need = keyof typeof NEEDS;

/** The host's stated capabilities. */
let abilities: Fields = {};

export const can = (method: Need): boolean => abilities[NEEDS[method][0]] !== undefined;

interface Waiting {
  resolve(value: Fields): void;
  reject(error: HostError): void;
}

const waiting = new Map<number, Waiting>();
let lastId = 0;

const post = (message: Fields): void => window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");

export const notify = (method: string, params: Fields = {}): void => post({ method, params });

const send = (method: string, params: Fields, patienceMs: number): Promise<Fields> =>
  new Promise((resolve, reject) => {
    lastId += 1;
    const number = lastId;
    const settle = (): void => {
      clearTimeout(timer);
      waiting.delete(number);
    };
    const timer = setTimeout(() => {
      settle();
      reject(new HostError("The chat does not answer."));
    }, patienceMs);
    waiting.set(number, {
      resolve: (value) => {
        settle();
        resolve(value);
      },
      reject: (error) => {
        settle();
        reject(error);
      },
    });
    post({ id: number, method, params });
  });

/** Sends a request if the host has the capability for it. @throws HostError if it lacks it, refuses, or does not answer in time */
export async function ask(method: Need, params: Fields, patienceMs = PATIENCE_MS): Promise<Fields> {
  if (!can(method)) throw new HostError(NEEDS[method][1]);
  return await send(method, params, patienceMs);
}

/** Initializes the connection and stores the host's capabilities. @returns the host's context @throws HostError */
export async function greet(): Promise<Fields> {
  const appInfo = { name: "audio-generation-mcp", version: "1" };
  const params = { protocolVersion: "2026-01-26", appInfo, appCapabilities: {} };
  const answer = await send("ui/initialize", params, PATIENCE_MS);
  abilities = fields(answer["hostCapabilities"]);
  return fields(answer["hostContext"]);
}

/** @throws HostError as {@link ask} does, and where the tool answers with an error */
export async function callTool(name: string, args: Fields, patienceMs?: number): Promise<Fields> {
  return await ask("tools/call", { name, arguments: args }, patienceMs);
}

const refusalOf = ({ code, message }: Fields): HostError =>
  GONE.includes(Number(code)) ? new GoneError() : new HostError(text(message) || "The chat refused.");

/**
 * Handles messages of the host.
 *
 * @param hear a handler for each notification and request, by method; its return value is sent as the answer
 */
export function listen(hear: Readonly<Record<string, (params: Fields) => void>>): void {
  window.addEventListener("message", (event) => {
    if (event.source !== window.parent) return;
    const message = fields(event.data);
    if (message["jsonrpc"] !== "2.0") return;
    const { id, method } = message;
    if (typeof method !== "string") {
      const asked = typeof id === "number" ? waiting.get(id) : undefined;
      if (message["error"] === undefined) asked?.resolve(fields(message["result"]));
      else asked?.reject(refusalOf(fields(message["error"])));
      return;
    }
    const isKnown = Object.hasOwn(hear, method);
    if (isKnown) hear[method]?.(fields(message["params"]));
    if (typeof id !== "number" && typeof id !== "string") return;
    if (isKnown || method === "ping") post({ id, result: {} });
    else post({ id, error: { code: -32601, message: "Not known here" } });
  });
}
