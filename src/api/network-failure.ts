/** Owns the translation of socket, TLS and HTTP-parser failures into {@link AudioError}; knows no status code. */
import { AudioError } from "../errors.ts";
import { UnsentRequest } from "./causes.ts";
import {
  isCertificateCode,
  isMalformedCode,
  isTimeoutCode,
  isUnreachableCode,
  networkCodes,
} from "./network-codes.ts";

function isProxyRefusal(error: unknown): error is Error {
  return error instanceof Error && /^Proxy (response|Authentication)/.test(error.message);
}

/** undici 8 leaves its parser's errors without a code. One of them is an end that came too early, which is a break. */
function isMalformed(error: unknown, codes: readonly string[]): boolean {
  const isParserError =
    error instanceof Error && error.name === "HTTPParserError" && !/EOF/.test(error.message);
  return isParserError || codes.some(isMalformedCode);
}

/**
 * A failure of the connection, as the caller may see it.
 *
 * @param host the configured host, for the message
 * @param isSent whether a byte of the request can have been written
 * @returns `network_error`, `timeout` or `unexpected_response`; retryable unless it is the certificate
 */
export function networkFailure(error: unknown, host: string, isSent: boolean): AudioError {
  if (error instanceof AudioError) return error;
  const codes = networkCodes(error);
  const cause = isSent ? error : new UnsentRequest("the request was never sent", { cause: error });
  const certificate = codes.find(isCertificateCode);
  if (certificate !== undefined) {
    return new AudioError("network_error", `The certificate of ${host} is not valid (${certificate}).`, {
      remedy:
        "Check AUDIO_BASE_URL and this machine's clock; for a company's own certificate authority, set NODE_EXTRA_CA_CERTS.",
      cause,
    });
  }
  if (isProxyRefusal(error)) {
    const isDenied = /407/.test(error.message);
    const reason = isDenied ? "wants a user name and password (407)" : "refused the connection";
    return new AudioError("network_error", `The proxy on the way to ${host} ${reason}.`, {
      retryable: !isDenied,
      remedy: "Check HTTPS_PROXY and NO_PROXY.",
      cause,
    });
  }
  if (codes.some(isTimeoutCode)) {
    const what = isSent ? "did not answer in time" : "could not be connected to in time";
    return new AudioError("timeout", `${host} ${what}.`, { retryable: true, cause });
  }
  if (isMalformed(error, codes)) {
    return new AudioError("unexpected_response", `${host} sent something that is not a valid HTTP answer.`, {
      retryable: true,
      cause,
    });
  }
  const unreachable = codes.find(isUnreachableCode);
  const what =
    unreachable === undefined
      ? `The connection to ${host} broke before the answer was complete.`
      : `${host} cannot be reached (${unreachable}).`;
  return new AudioError("network_error", what, { retryable: true, cause });
}
