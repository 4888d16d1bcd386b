/** Reads JSON bodies. Refuses a body that is longer than 1 MiB. */
import type { HttpResponse } from "./transport.ts";

export const MAX_JSON_BODY_BYTES = 1024 * 1024;
/** Initial size of the buffer in bytes, large enough for a usual task. */
const USUAL_BYTES = 4096;

/**
 * A body that is not acceptable JSON. The message is the end of a sentence that begins "The service's answer", such as
 * "is not JSON".
 */
export class UnreadableBodyError extends Error {
  override readonly name = "UnreadableBodyError";
}

/**
 * Reads a JSON body of at most 1 MiB.
 *
 * @returns the parsed body
 * @throws UnreadableBodyError if it is compressed, too long, not UTF-8 or not JSON; AudioError if the connection fails
 */
export async function readJson(response: HttpResponse): Promise<unknown> {
  const encoding = response.header("content-encoding");
  if (encoding !== undefined && encoding.trim().toLowerCase() !== "identity") {
    response.discard();
    throw new UnreadableBodyError("is compressed, which was not asked for");
  }
  // Copy the chunks into one growing buffer. If each chunk were kept, a body of a million chunks of one byte would need
  // about a gigabyte of memory.
  let bytes = Buffer.alloc(USUAL_BYTES);
  let sizeBytes = 0;
  for await (const chunk of response.body) {
    const sizeAfter = sizeBytes + chunk.byteLength;
    // A throw leaves the loop, and leaving the loop closes the connection.
    if (sizeAfter > MAX_JSON_BODY_BYTES) {
      throw new UnreadableBodyError(`is longer than ${MAX_JSON_BODY_BYTES} bytes`);
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
    throw new UnreadableBodyError("is not JSON", { cause });
  }
}
