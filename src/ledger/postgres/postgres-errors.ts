/** Describes errors of the PostgreSQL server, and decides whether a retry may help. */
import { z } from "zod";
import { AudioError } from "../../errors.ts";
import { getSystemCode } from "../../files/file-error.ts";
import type { DatabaseFailure } from "../engine.ts";

/** The connection broke or timed out. The statements that were sent may have taken effect. */
export class LostConnectionError extends Error {
  constructor(cause: unknown) {
    super("the connection was lost", { cause });
  }
}

/** The cause of a {@link LostConnectionError} if the server gave no answer in time. */
export class NoAnswerError extends Error {
  constructor() {
    super("no answer came in time");
  }
}

/**
 * A statement of the transaction failed, so the server answered COMMIT with ROLLBACK. PostgreSQL does not report this
 * as an error.
 */
export class NotCommittedError extends Error {
  constructor() {
    super("the server rolled the transaction back");
  }
}

const serverError = z.object({ severity: z.string(), code: z.string().length(5), message: z.string() });

const CALL_AGAIN = "Try again: nothing is paid twice.";
const CHECK_SERVER = `Check that the PostgreSQL server of AUDIO_STORE_URL runs and can be reached. ${CALL_AGAIN}`;

interface ErrorDescription {
  /** The words of the message that follow the name of the database. */
  readonly messageAfterName: string;
  readonly remedy: string;
  /** Whether the problem may end by itself within seconds, for example because the server is restarting. */
  readonly isTransient?: boolean;
  /** Whether the same call may succeed later; false if a person has to change something first. */
  readonly isRetryable?: boolean;
}

const LOCKED_TABLES: ErrorDescription = {
  messageAfterName: "stayed locked by another process",
  remedy: CALL_AGAIN,
  isTransient: true,
};
const STARTING_SERVER: ErrorDescription = {
  messageAfterName: "is starting or stopping",
  remedy: CALL_AGAIN,
  isTransient: true,
};
const WRITE_CONFLICT: ErrorDescription = {
  messageAfterName: "could not order transactions that came together",
  remedy: CALL_AGAIN,
  isTransient: true,
};
const REFUSED_LOGIN: ErrorDescription = {
  messageAfterName: "refused the login",
  remedy: "Correct user and password in AUDIO_STORE_URL.",
  isRetryable: false,
};
const NO_RIGHTS: ErrorDescription = {
  messageAfterName: "denied this user a right that the ledger needs",
  remedy:
    "If the tables agm_… are there, let their owner grant SELECT, INSERT, UPDATE and DELETE on them; otherwise let an administrator grant CREATE on the schema. doctor names the tables.",
  isRetryable: false,
};
const FOREIGN_TABLES: ErrorDescription = {
  messageAfterName: "has tables named agm_… that are not this program's",
  remedy: "Set AUDIO_STORE_URL to a database of its own.",
  isRetryable: false,
};

const READ_ONLY = "25006";

/** Messages by SQLSTATE. A key is the whole code, or its first two or three characters. */
const BY_STATE: Readonly<Record<string, ErrorDescription>> = {
  "08": { messageAfterName: "broke the connection", remedy: CALL_AGAIN, isTransient: true },
  [READ_ONLY]: {
    messageAfterName: "is read-only: a standby, or default_transaction_read_only is on",
    remedy: "Set AUDIO_STORE_URL to the server that takes writes.",
    isTransient: true,
  },
  "25P03": LOCKED_TABLES,
  "28": REFUSED_LOGIN,
  "3D000": {
    messageAfterName: "does not exist",
    remedy: "Create the database, or correct its name in AUDIO_STORE_URL.",
    isRetryable: false,
  },
  "3F000": NO_RIGHTS,
  "40": WRITE_CONFLICT,
  "42501": NO_RIGHTS,
  "42P01": FOREIGN_TABLES,
  "42703": FOREIGN_TABLES,
  "53100": {
    messageAfterName: "has no space left on its disk",
    remedy: "Free some space on the server, then try again.",
  },
  "53300": {
    messageAfterName: "has too many connections",
    remedy:
      "Call again later. Each process takes one connection: raise max_connections, or put PgBouncer before the server (docs/deployment.md, Several machines, one account).",
    isTransient: true,
  },
  "55P03": LOCKED_TABLES,
  "57014": { messageAfterName: "took too long for a statement", remedy: CALL_AGAIN, isTransient: true },
  "57P": STARTING_SERVER,
};

const UNTRUSTED_CERTIFICATE: ErrorDescription = {
  messageAfterName: "has a certificate that is not trusted",
  remedy:
    "Name its authority by sslrootcert=/absolute/path in AUDIO_STORE_URL, and use the host name of its certificate.",
  isRetryable: false,
};
const NO_TLS: ErrorDescription = {
  messageAfterName: "does not offer TLS",
  remedy: "Turn on TLS on the server: off this machine nothing is sent in clear.",
  isRetryable: false,
};
const SILENT_SERVER: ErrorDescription = {
  messageAfterName: "does not answer",
  remedy: CHECK_SERVER,
  isTransient: true,
};

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there",
  ENOTFOUND: "the host name is unknown",
  EAI_AGAIN: "the host name cannot be looked up now",
  EHOSTUNREACH: "there is no way to the host",
  ENETUNREACH: "there is no way to the network",
};

/** Finds the words for what the server has reported, by the whole code, or by its first three or two characters. */
function describeServerError({ code, message }: z.infer<typeof serverError>): ErrorDescription {
  const state = [5, 3, 2].map((length) => code.slice(0, length)).find((part) => part in BY_STATE) ?? "";
  return (
    BY_STATE[state] ?? {
      messageAfterName: `cannot be used: ${message}`,
      remedy: "Check the server and its log.",
      isRetryable: false,
    }
  );
}

function describeConnectionLoss(cause: unknown): ErrorDescription {
  if (cause instanceof NoAnswerError) return SILENT_SERVER;
  const code = getSystemCode(cause) ?? "";
  if (/CERT|SIGNATURE|ISSUER|SELF_SIGNED/.test(code)) return UNTRUSTED_CERTIFICATE;
  const message = cause instanceof Error ? cause.message : "";
  if (message.includes("does not support SSL")) return NO_TLS;
  if (message.startsWith("SASL")) return REFUSED_LOGIN;
  const reason = REASONS[code] ?? (code === "" ? "the connection was closed" : code);
  return {
    messageAfterName: `cannot be reached: ${reason}`,
    remedy: CHECK_SERVER,
    isTransient: true,
  };
}

/**
 * Whether the server is read-only. The connection must then be closed, because after a failover only a new connection
 * leads to the new primary at the same address.
 */
export const isReadOnly = (error: unknown): boolean => serverError.safeParse(error).data?.code === READ_ONLY;

/**
 * Builds the `store_unavailable` error for tables of another version of this program. `description` names the database,
 * without credentials.
 */
export function otherPostgresSchemaError(description: string): AudioError {
  return new AudioError(
    "store_unavailable",
    `The ${description} holds a ledger of another version of this program, with other tables.`,
    {
      remedy:
        "Use that version again, or set AUDIO_STORE_URL to another database. The same calls then ask the service under the same idempotency keys, so nothing is paid twice.",
    },
  );
}

/** Builds the `store_unavailable` error for tables that have the prefix `agm_` but belong to another program. */
export const foreignTablesError = (description: string): AudioError =>
  unavailableLedgerError(description, FOREIGN_TABLES, undefined);

/**
 * Describes an error that the server reported or a loss of the connection. Returns `null` for other errors.
 *
 * @param description the name of the database, without credentials
 */
export function describePostgresFailure(description: string, error: unknown): DatabaseFailure | null {
  const isLoss = error instanceof LostConnectionError;
  const cause = isLoss ? error.cause : error;
  const reported = serverError.safeParse(error).data;
  let words: ErrorDescription;
  if (error instanceof NotCommittedError) words = WRITE_CONFLICT;
  else if (reported !== undefined) words = describeServerError(reported);
  else if (isLoss) words = describeConnectionLoss(cause);
  else return null;
  return {
    error: unavailableLedgerError(description, words, cause),
    isTransient: words.isTransient ?? false,
    isSilence: isLoss && cause instanceof NoAnswerError,
  };
}

/** Builds the error of a server that does not answer. */
export const silentServerError = (description: string): AudioError =>
  unavailableLedgerError(description, SILENT_SERVER, undefined);

function unavailableLedgerError(
  description: string,
  { messageAfterName, remedy, isRetryable = true }: ErrorDescription,
  cause: unknown,
): AudioError {
  return new AudioError("store_unavailable", `The ${description} ${messageAfterName}.`, {
    retryable: isRetryable,
    remedy,
    cause,
  });
}
