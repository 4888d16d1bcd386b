/**
 * Reads the address of the ledger's database. Parses all parts of it, so that the database client takes nothing from its
 * environment.
 */
import { isFullyQualifiedPath } from "../environment.ts";
import { decodePercent } from "../percent-decoding.ts";
import { findPastingFault } from "./pasting-fault.ts";
import { isLoopbackHost } from "./service-address.ts";
import type { SettingsReader } from "./settings-reader.ts";

export interface PostgresAddress {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  /** The password; empty if the address has none. */
  readonly password: string;
  /**
   * Null means no TLS, which is allowed only for a server on this machine. With TLS, the certificate and host name are
   * checked.
   */
  readonly tls: { readonly rootCertificate: string | null } | null;
}

/** Explains why a text is not a valid address. Quotes nothing that may be a password. */
export interface AddressIssue {
  /** A clause that follows the name of the setting. */
  readonly what: string;
  readonly fix: string;
}

const EXPECTED_FORM = "postgres://user:password@host:5432/database";
const ALLOWED_PARAMETERS = ["sslmode", "sslrootcert"];
const TLS_MODES = ["prefer", "require", "verify-ca", "verify-full"];
const DEFAULT_PORT = 5432;
const HOST_PATTERN = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])$/;

const notAnAddress: AddressIssue = {
  what: "is not a postgres:// address",
  fix: `Write it as ${EXPECTED_FORM}, with / ? # @ : % in a password written as %2F %3F %23 %40 %3A %25.`,
};

/**
 * Parses a `postgres://` address, or explains why the text is not a valid address. If parts are missing, the user is
 * `postgres`, the database has the name of the user, and the port is 5432. Only a server on this machine may be used
 * without TLS.
 */
export function parsePostgresAddress(text: string): PostgresAddress | AddressIssue {
  if (/^rediss?:/i.test(text))
    return { what: "is a Redis address", fix: `Redis is no longer supported. ${notAnAddress.fix}` };
  if (!URL.canParse(text)) return notAnAddress;
  const { protocol, hostname, port, pathname, username, password, search, hash, searchParams } = new URL(
    text,
  );
  const user = decodePercent(username) || "postgres";
  const database = decodePercent(pathname.slice(1)) || user;
  const isShaped =
    /^postgres(?:ql)?:$/.test(protocol) && HOST_PATTERN.test(hostname) && hash === "" && port !== "0";
  // An `@` after the `?` shows that the `?` is part of a password.
  if (!isShaped || search.includes("@") || /[/\p{Cc}]/u.test(database) || /\p{Cc}/u.test(user)) {
    return notAnAddress;
  }
  const unknown = [...new Set(searchParams.keys())].filter((name) => !ALLOWED_PARAMETERS.includes(name));
  if (unknown.length > 0) {
    return {
      what: `has parameters that are not supported: ${unknown.join(", ")}`,
      fix: `Remove them; ${ALLOWED_PARAMETERS.join(" and ")} are supported.`,
    };
  }
  const tls = parseTls(searchParams, isLoopbackHost(hostname.toLowerCase()));
  if (tls !== null && "what" in tls) return tls;
  return {
    host: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? DEFAULT_PORT : Number(port),
    database,
    user,
    password: decodePercent(password),
    tls,
  };
}

/** Reads the TLS parameters. TLS always means verify-full, because an unchecked certificate protects nothing. */
function parseTls(parameters: URLSearchParams, isLoopback: boolean): PostgresAddress["tls"] | AddressIssue {
  const mode =
    parameters.get("sslmode") ?? (isLoopback && !parameters.has("sslrootcert") ? "disable" : "verify-full");
  const rootCertificate = parameters.get("sslrootcert");
  if (mode === "disable" && !isLoopback) {
    return {
      what: "has sslmode=disable, but only a server on this machine is used without TLS",
      fix: "Use sslmode=verify-full, and sslrootcert=/absolute/path for an authority of your own.",
    };
  }
  if (mode !== "disable" && !TLS_MODES.includes(mode)) {
    return { what: "has an sslmode that is not supported", fix: "Use sslmode=verify-full." };
  }
  if (rootCertificate !== null && !isFullyQualifiedPath(rootCertificate)) {
    return {
      what: "has an sslrootcert that is not an absolute path",
      fix: "Set sslrootcert to the absolute path of a PEM file.",
    };
  }
  return mode === "disable" || (mode === "prefer" && isLoopback) ? null : { rootCertificate };
}

/**
 * Reads the address of the ledger's database. Returns null if the address is invalid or not set. Without an address,
 * the ledger lies on this machine.
 */
export function readStoreUrl(reader: SettingsReader): string | null {
  const name = "AUDIO_STORE_URL";
  const text = reader.readText(name);
  if (text === undefined) return null;
  const pasted = findPastingFault(text);
  const address = pasted === null ? parsePostgresAddress(text) : { what: pasted, fix: "Correct it." };
  if (!("what" in address)) return text;
  reader.addIssue(
    name,
    `${name} ${address.what}.`,
    `${address.fix} Unset ${name} to keep the ledger on this machine.`,
  );
  return null;
}
