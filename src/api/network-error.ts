/**
 * Converts failures of sockets, TLS and the HTTP parser to {@link AudioError}s, and marks a request that was never sent
 * and a download that cannot continue from its partial bytes.
 */
import { nameProxy, type ProxySetting } from "../config/proxy.ts";
import { AudioError, askUser, IN_CLIENT_SETTINGS } from "../errors.ts";

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

/** Codes of a peer whose first bytes are not TLS. An alert of TLS is. */
const NOT_TLS_CODE = /^(EPROTO$|ERR_SSL_(?!.*ALERT))/;

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

/** Matches undici's message about a proxy that opened no tunnel. */
const PROXY_REFUSAL = /^Proxy response \((\d+)\)/;

const isProxyRefusal = (error: unknown): error is Error =>
  error instanceof Error && PROXY_REFUSAL.test(error.message);

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

/** The error for a request that was not sent, because its proxy opened no connection to the service. */
function proxyError(
  error: unknown,
  codes: readonly string[],
  host: string,
  proxy: ProxySetting,
  cause: unknown,
): AudioError {
  const [, status] = isProxyRefusal(error) ? (PROXY_REFUSAL.exec(error.message) ?? []) : [];
  const isDenied = status === "407";
  const isSlow = codes.some((code) => TIMEOUT_CODES.has(code));
  const unreachable = codes.find((code) => UNREACHABLE_CODES.has(code) && !code.startsWith("UND_"));
  const describe = (): string => {
    if (isDenied) return "does not accept its user name and password, or wants some (407)";
    if (status !== undefined) return `refused the connection (HTTP ${status})`;
    if (isSlow) return "did not answer in time";
    if (unreachable !== undefined) return `cannot be reached (${unreachable})`;
    if (isMalformed(error, codes) || codes.some((code) => NOT_TLS_CODE.test(code)))
      return "answered with something else, such as a page to sign in";
    return "closed the connection";
  };
  const deed = isDenied
    ? `write both into ${proxy.variable} (http://user:password@host:port)`
    : `check that the proxy runs, to correct ${proxy.variable}, or to name ${host} in NO_PROXY`;
  const words = `The ${nameProxy(proxy)} on the way to ${host} ${describe()}.`;
  return new AudioError(isSlow ? "timeout" : "network_error", words, {
    retryable: !isDenied,
    remedy: askUser(deed, ", and to restart the server. Then repeat the same call: it does not pay twice"),
    cause,
  });
}

/** The parser's own words in parentheses; they quote nothing of the answer. */
const parserReason = (error: unknown): string =>
  isParserError(error) ? (/ \(.*\)$/.exec(error.message)?.[0] ?? "") : "";

/** Whether the bytes that the HTTP parser refused begin like TLS: an alert or a handshake. */
const isTlsRecord = (error: unknown): boolean =>
  isParserError(error) && "data" in error && /^[\x15\x16]\x03/.test(String(error.data));

/** Says how a connection broke, and which mistake in the address ends like this. */
function describeBreak(error: unknown, codes: readonly string[], host: string): string {
  if (codes.some((code) => NOT_TLS_CODE.test(code)))
    return `${host} does not speak TLS, so AUDIO_BASE_URL must not begin with https://, or needs another port.`;
  if (codes.includes("UND_ERR_RES_CONTENT_LENGTH_MISMATCH"))
    return `The answer of ${host} ended early, or contradicts itself (such as by two Content-Length lines).`;
  const socket: unknown = error instanceof Error && "socket" in error ? error.socket : null;
  if (typeof socket === "object" && socket !== null && "bytesRead" in socket && socket.bytesRead === 0)
    return `${host} closed the connection without an answer; so does a server that expects https:// from http://, and the reverse.`;
  return `The connection to ${host} broke before the answer was complete.`;
}

/**
 * Converts a failure of the connection to the error that the caller gets.
 *
 * @param host the configured host, for the message
 * @param isSent whether a byte of the request can have been written
 * @param proxy the proxy of the request; without a byte written, it is what failed
 * @returns the same error if it does not come from the network; otherwise AudioError `network_error`, `timeout` or
 *   `unexpected_response`. The AudioError is retryable, unless the certificate is invalid, the host speaks no TLS, the proxy demands a
 *   password, or the host is an example such as `example.com`.
 */
export function networkError(
  error: unknown,
  host: string,
  isSent: boolean,
  proxy: ProxySetting | null = null,
): unknown {
  const codes = collectErrorCodes(error);
  if (error instanceof AudioError || !isNetworkError(error, codes)) return error;
  const cause = isSent ? error : new UnsentRequestError("the request was never sent", { cause: error });
  const certificate = codes.find((code) => CERTIFICATE_CODE.test(code));
  if (certificate !== undefined) {
    const origin = proxy === null ? "" : ` It may be that of the ${nameProxy(proxy)} on the way.`;
    return new AudioError(
      "network_error",
      `The certificate of ${host} is not valid (${certificate}).${origin}`,
      {
        remedy:
          "Check AUDIO_BASE_URL and this machine's clock; for a company's own certificate authority, set NODE_EXTRA_CA_CERTS.",
        cause,
      },
    );
  }
  if (proxy !== null && !isSent) return proxyError(error, codes, host, proxy, cause);
  if (codes.some((code) => TIMEOUT_CODES.has(code))) {
    const whatHappened = isSent ? "did not answer in time" : "could not be connected to in time";
    return new AudioError("timeout", `${host} ${whatHappened}.`, { retryable: true, cause });
  }
  if (isMalformed(error, codes)) {
    const what = isTlsRecord(error)
      ? "speaks TLS, so AUDIO_BASE_URL must begin with https://"
      : `sent something that is not a valid HTTP answer${parserReason(error)}`;
    return new AudioError("unexpected_response", `${host} ${what}.`, { retryable: true, cause });
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
  if (unreachable !== undefined) {
    return new AudioError("network_error", `${host} cannot be reached (${unreachable}).`, {
      retryable: true,
      cause,
    });
  }
  // A port that speaks no TLS does not begin to, so that a caller who waits would wait in vain.
  const retryable = !codes.some((code) => NOT_TLS_CODE.test(code));
  return new AudioError("network_error", describeBreak(error, codes, host), { retryable, cause });
}

/** Marks a failure before the first byte of the request was written. The service cannot have seen such a request. */
export class UnsentRequestError extends Error {
  override readonly name = "UnsentRequestError";
}

/**
 * Marks a failure after which a download cannot continue from its partial bytes: a 416, a wrong range, or surplus
 * bytes.
 */
export class StaleBytesError extends Error {
  override readonly name = "StaleBytesError";
  /** The size of the whole audio, if a 416 states it in Content-Range; otherwise `null`. */
  readonly totalBytes: number | null;

  constructor(message: string, totalBytes: number | null = null) {
    super(message);
    this.totalBytes = totalBytes;
  }
}

/**
 * Returns the {@link StaleBytesError} that caused a failure, or `null`. {@link StaleBytesError} is a cause and not a
 * subclass of AudioError, because `withIds` copies errors, and its copies keep the cause but not the subclass.
 */
export function findStaleBytesError(error: unknown): StaleBytesError | null {
  return error instanceof AudioError && error.cause instanceof StaleBytesError ? error.cause : null;
}
