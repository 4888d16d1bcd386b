/** Owns what the codes of Node, TLS and undici mean for us; throws nothing. */

/** The request never left: no address, nobody listening, no route, no connection in time. */
const UNREACHABLE = new Set([
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

const TIMEOUTS = new Set([
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
  "ETIMEDOUT",
]);

const MALFORMED = new Set(["UND_ERR_HEADERS_OVERFLOW", "UND_ERR_RES_EXCEEDED_MAX_SIZE"]);

/** OpenSSL's verification failures, as Node names them, and Node's own host name check. */
const CERTIFICATE =
  /^(CERT_|ERR_TLS_CERT_|UNABLE_TO_|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED_CERT|CRL_|ERROR_IN_C|INVALID_CA$|INVALID_PURPOSE$|PATH_LENGTH_EXCEEDED$|HOSTNAME_MISMATCH$)/;

export const isUnreachableCode = (code: string): boolean => UNREACHABLE.has(code);
export const isTimeoutCode = (code: string): boolean => TIMEOUTS.has(code);
export const isCertificateCode = (code: string): boolean => CERTIFICATE.test(code);
/** Not HTTP that anybody should read. */
export const isMalformedCode = (code: string): boolean => MALFORMED.has(code);

/** All codes of an error, of its causes and of the errors inside an AggregateError, outermost first. */
export function networkCodes(error: unknown, depth = 0): string[] {
  if (!(error instanceof Error) || depth > 6) return [];
  const own = "code" in error && typeof error.code === "string" ? [error.code] : [];
  const inner = error instanceof AggregateError ? error.errors : [];
  return [...own, ...[error.cause, ...inner].flatMap((cause) => networkCodes(cause, depth + 1))];
}
