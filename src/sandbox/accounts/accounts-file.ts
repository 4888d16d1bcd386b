/** Reads and validates the accounts file. Throws an error with a message for people if the file is invalid. */
import { randomBytes } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { z } from "zod";
import { SandboxUsageError } from "../sandbox-errors.ts";

/** Credits of the default account: enough for six thousand tasks, so that it does not run out. */
const DEFAULT_CREDITS = 1_000_000;

const keySchema = z.strictObject({
  /** Characters that a bearer header can carry: visible ASCII without white space. */
  key: z.string().regex(/^[\x21-\x7e]{1,256}$/, "must be 1 to 256 visible ASCII characters without spaces"),
  active: z.boolean().default(true),
});

/**
 * A purchase or gift of credits. For a subscription, the grant has the credits of the current period (docs/contract.md,
 * Billing).
 */
const grantSchema = z.strictObject({
  kind: z.enum(["pack", "subscription", "gift"]),
  credits: z.int().min(0).max(1_000_000_000),
  state: z.enum(["paid", "refunded", "disputed"]).default("paid"),
  /** A grant without this date never expires. */
  expires_at: z.iso.datetime({ offset: true }).optional(),
});

const accountSchema = z.strictObject({
  id: z.string().min(1).max(128),
  keys: z.array(keySchema).min(1),
  grants: z.array(grantSchema).default([]),
});

/** The accounts file: `{ accounts: [{ id, keys, grants }] }`; ids and keys are unique in the file. */
const accountsFileSchema = z
  .strictObject({ accounts: z.array(accountSchema).min(1) })
  .superRefine((file, context) => {
    const refuse = (message: string): void => {
      context.addIssue({ code: "custom", message, input: file });
    };
    const ids = file.accounts.map((account) => account.id);
    const keys = file.accounts.flatMap((account) => account.keys);
    const twice = ids.find((id, index) => ids.indexOf(id) !== index);
    if (twice !== undefined) refuse(`the account id ${JSON.stringify(twice)} occurs twice`);
    const distinct = new Set(keys.map((entry) => entry.key));
    // The message does not quote the repeated key, because keys are secrets even in the sandbox.
    if (distinct.size !== keys.length) refuse("the same key occurs twice");
    if (!keys.some((entry) => entry.active)) refuse("no account has an active key, so nobody could use it");
  });

/** Accounts before parsing: `active`, `state` and `grants` are optional. */
export type AccountsFile = z.input<typeof accountsFileSchema>;
/** Accounts with every default filled in. */
export type ParsedAccounts = z.output<typeof accountsFileSchema>;
export type GrantTerms = z.output<typeof grantSchema>;

/**
 * Validates accounts and fills in the defaults.
 *
 * @param source what the error message calls the input, for example `accounts list`
 * @throws SandboxUsageError whose one-sentence message names the first issue
 */
export function parseAccounts(value: unknown, source: string): ParsedAccounts {
  const parsed = accountsFileSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const location =
    issue === undefined || issue.path.length === 0 ? "" : ` at ${z.core.toDotPath(issue.path)}`;
  const unknown = issue?.code === "unrecognized_keys" ? issue.keys[0] : undefined;
  const reason =
    unknown === undefined
      ? (issue?.message ?? "it has the wrong shape").replaceAll(/\s+/g, " ")
      : `the key ${JSON.stringify(unknown)} is not known`;
  throw new SandboxUsageError(`The ${source} is not valid${location}: ${reason}.`);
}

/**
 * Reads and checks an accounts file.
 *
 * @param path a JSON file in the shape of {@link accountsFileSchema}
 * @throws SandboxUsageError if the file is missing, unreadable, not JSON or of the wrong shape
 */
export async function readAccountsFile(path: string): Promise<ParsedAccounts> {
  const source = `accounts file ${JSON.stringify(path)}`;
  let text: string;
  try {
    // Only regular files are read: reading a pipe could block forever, and a device may have no end.
    if (!(await stat(path)).isFile()) {
      throw new SandboxUsageError(`The ${source} is not a regular file and cannot be read.`);
    }
    text = await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof SandboxUsageError) throw error;
    const isMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
    throw new SandboxUsageError(
      isMissing ? `The ${source} does not exist.` : `The ${source} cannot be read.`,
    );
  }
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch {
    throw new SandboxUsageError(`The ${source} is not valid JSON.`);
  }
  return parseAccounts(value, source);
}

/** Builds one account that has the given key and one paid pack of credits. */
export function buildDefaultAccounts(apiKey: string): ParsedAccounts {
  return {
    accounts: [
      {
        id: "sandbox",
        keys: [{ key: apiKey, active: true }],
        grants: [{ kind: "pack", credits: DEFAULT_CREDITS, state: "paid" }],
      },
    ],
  };
}

/** Returns a new random API key: `sk-sandbox-` and 32 hexadecimal digits. */
export function generateApiKey(): string {
  return `sk-sandbox-${randomBytes(16).toString("hex")}`;
}
