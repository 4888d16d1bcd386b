/** Converts failures of sockets, TLS and the HTTP parser to {@link AudioError}s. */
import { AudioError } from "../errors.ts";
import { IN_CLIENT_SETTINGS } from "../settings-location.ts";
import { UnsentRequestError } from "./error-causes.ts";

/**
 * Codes of requests that were never sent, because there was no connection: unknown host, no route, refused connection,
 * time-out while connecting, unreachable proxy.
 */
const UNREACHABLE_CODES = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EAI_NODATA",
  "EAI_NONAME",
  "EAI_FAIL",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EADDRNOTAVAIL",
  "EHOSTDOWN",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_PRX_CONN",
  "UND_ERR_PRX_TLS",
]);

const TIMEOUT_CODES = new Set([
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
  "ETIMEDOUT",
]);

/**
 * Codes of invalid certificates: Node's names for OpenSSL's verification failures, and the codes of Node's own check of
 * the host name.
 */
const CERTIFICATE_CODE =
  /^(CERT_|ERR_TLS_CERT_|UNABLE_TO_|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED_CERT|CRL_|ERROR_IN_C|INVALID_CA$|INVALID_PURPOSE$|PATH_LENGTH_EXCEEDED$|HOSTNAME_MISMATCH$)/;

/** Codes of bugs of this program: wrong use of Node or undici, a failed assertion, a missing module. */
const PROGRAM_ERROR_CODE =
  /^(ERR_INVALID_|ERR_ASSERTION|ERR_MODULE_|MODULE_NOT_FOUND|UND_ERR_INVALID_|UND_ERR_NOT_SUP)/;
const PROGRAM_ERRORS = [TypeError, RangeError, ReferenceError, SyntaxError, EvalError];

/** Returns the codes of an error, its causes and the errors of an AggregateError, outermost first. */
function collectErrorCodes(error: unknown, depth = 0): string[] {
  if (!(error instanceof Error) || depth > 6) return [];
  const ownCode = "code" in error && typeof error.code === "string" ? [error.code] : [];
  const innerErrors = error instanceof AggregateError ? error.errors : [];
  return [
    ...ownCode,
    ...[error.cause, ...innerErrors].flatMap((cause) => collectErrorCodes(cause, depth + 1)),
  ];
}

/** Matches example hosts (RFC 2606), with or without a port. No service has such a host. */
const EXAMPLE_HOST = /(?:^|\.)example\.(?:com|net|org)(?::\d+)?$/;

function isProxyRefusal(error: unknown): error is Error {
  return error instanceof Error && /^Proxy (response|Authentication)/.test(error.message);
}

const isParserError = (error: unknown): error is Error =>
  error instanceof Error && error.name === "HTTPParserError";

/**
 * Whether the answer is malformed. The parser also reports answers that end too early. Those count as broken
 * connections instead.
 */
function isMalformed(error: unknown, codes: readonly string[]): boolean {
  return (isParserError(error) && !/EOF/.test(error.message)) || codes.includes("UND_ERR_HEADERS_OVERFLOW");
}

/**
 * Whether an error comes from the network. A bug of this program must not become a `network_error`, because the
 * request would then be retried for an hour and the bug would never be found.
 */
function isNetworkError(error: unknown, codes: readonly string[]): boolean {
  if (!(error instanceof Error) || PROGRAM_ERRORS.some((kind) => error instanceof kind)) return false;
  if (isProxyRefusal(error) || isParserError(error)) return true;
  return codes.length > 0 && !codes.some((code) => PROGRAM_ERROR_CODE.test(code));
}

/**
 * Converts a failure of the connection to the error that the caller gets.
 *
 * @param host the configured host, for the message
 * @param isSent whether a byte of the request can have been written
 * @returns the same error if it does not come from the network; otherwise AudioError `network_error`, `timeout` or
 *   `unexpected_response`. The AudioError is retryable, unless the certificate is invalid, the proxy demands a
 *   password, or the host is an example such as `example.com`.
 */
export function networkError(error: unknown, host: string, isSent: boolean): unknown {
  const codes = collectErrorCodes(error);
  if (error instanceof AudioError || !isNetworkError(error, codes)) return error;
  const cause = isSent ? error : new UnsentRequestError("the request was never sent", { cause: error });
  const certificate = codes.find((code) => CERTIFICATE_CODE.test(code));
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
  if (codes.some((code) => TIMEOUT_CODES.has(code))) {
    const whatHappened = isSent ? "did not answer in time" : "could not be connected to in time";
    return new AudioError("timeout", `${host} ${whatHappened}.`, { retryable: true, cause });
  }
  if (isMalformed(error, codes)) {
    return new AudioError("unexpected_response", `${host} sent something that is not a valid HTTP answer.`, {
      retryable: true,
      cause,
    });
  }
  const unreachable = codes.find((code) => UNREACHABLE_CODES.has(code));
  if (unreachable !== undefined && EXAMPLE_HOST.test(host)) {
    return new AudioError(
      "network_error",
      `${host} is the example address of the instructions, and no service.`,
      {
        remedy: {
          assistant: `Ask the user to set AUDIO_BASE_URL ${IN_CLIENT_SETTINGS} to the address of the audio service, and to restart the server. Then repeat the same call.`,
          terminal: "Set AUDIO_BASE_URL to the address of the audio service.",
        },
        cause,
      },
    );
  }
  const whatHappened =
    unreachable === undefined
      ? `The connection to ${host} broke before the answer was complete.`
      : `${host} cannot be reached (${unreachable}).`;
  return new AudioError("network_error", whatHappened, { retryable: true, cause });
}
