/** Speaks to the host: JSON-RPC by postMessage with the window around this one, and with nobody else. */
import { type Fields, fields, text } from "./received.ts";

/** After so long without an answer, there will be none. */
export const PATIENCE_MS = 10_000;

/** The host said no, or nothing; the message is a sentence. */
export class HostError extends Error {}

/** The host may read, and the file is not there as it was saved. */
export class GoneError extends HostError {
  constructor() {
    super("The file was moved, deleted or changed.");
  }
}

/** What servers answer for an address that has nothing: of the specification's editions, and of this server. */
const GONE = [-32602, -32002];

interface Waiting {
  resolve(value: Fields): void;
  reject(error: HostError): void;
}

const waiting = new Map<number, Waiting>();
let lastId = 0;

const post = (message: Fields): void => window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");

export const notify = (method: string, params: Fields = {}): void => post({ method, params });

/** @throws HostError when the host refuses, or has not answered in time */
export const ask = (method: string, params: Fields, patienceMs = PATIENCE_MS): Promise<Fields> =>
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

/** @throws HostError as {@link ask} does, and where the tool answers with an error */
export async function callTool(name: string, args: Fields, patienceMs?: number): Promise<Fields> {
  return await ask("tools/call", { name, arguments: args }, patienceMs);
}

const refusalOf = ({ code, message }: Fields): HostError =>
  GONE.includes(Number(code)) ? new GoneError() : new HostError(text(message) || "The chat refused.");

/**
 * Hears the host.
 *
 * @param hear what to do with each notification and request, by its method; what it answers goes back
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
