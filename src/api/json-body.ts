/** Reads small JSON bodies: at most 1 MiB, stopped while it streams. */
import type { HttpResponse } from "./transport.ts";

export const JSON_BODY_MAX_BYTES = 1024 * 1024;
/** Room for a task. */
const USUAL_BYTES = 4096;

/** A body that is no JSON we would read, and why, in words that follow "the answer". */
export class UnreadableBody extends Error {
  override readonly name = "UnreadableBody";
}

/**
 * @returns the parsed body
 * @throws UnreadableBody when it is encoded, too long, not UTF-8 or not JSON; AudioError when the connection fails
 */
export async function readJson(response: HttpResponse): Promise<unknown> {
  const encoding = response.header("content-encoding");
  if (encoding !== undefined && encoding.trim().toLowerCase() !== "identity") {
    response.discard();
    throw new UnreadableBody("is compressed, which was not asked for");
  }
  // One buffer that grows: a chunk of one byte takes a thousand times its size, and a service may send a million.
  let bytes = Buffer.alloc(USUAL_BYTES);
  let sizeBytes = 0;
  for await (const chunk of response.body) {
    const sizeAfter = sizeBytes + chunk.byteLength;
    // Leaving the loop drops the connection.
    if (sizeAfter > JSON_BODY_MAX_BYTES) {
      throw new UnreadableBody(`is longer than ${JSON_BODY_MAX_BYTES} bytes`);
    }
    if (sizeAfter > bytes.byteLength) {
      bytes = Buffer.concat([bytes], Math.max(sizeAfter, 2 * bytes.byteLength));
    }
    bytes.set(chunk, sizeBytes);
    sizeBytes = sizeAfter;
  }
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, sizeBytes)));
  } catch (cause) {
    throw new UnreadableBody("is not JSON", { cause });
  }
}
