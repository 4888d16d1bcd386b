/** Reads small JSON bodies: at most 1 MiB, stopped while it streams. */
import type { HttpResponse } from "./transport.ts";

export const JSON_BODY_MAX_BYTES = 1024 * 1024;

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
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of response.body) {
    sizeBytes += chunk.byteLength;
    // Leaving the loop drops the connection.
    if (sizeBytes > JSON_BODY_MAX_BYTES) {
      throw new UnreadableBody(`is longer than ${JSON_BODY_MAX_BYTES} bytes`);
    }
    chunks.push(chunk);
  }
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks)));
  } catch (cause) {
    throw new UnreadableBody("is not JSON", { cause });
  }
}
