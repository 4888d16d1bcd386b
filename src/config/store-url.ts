/** Reads and validates the address of the ledger's database. */
import { findPastingFault } from "./pasting-fault.ts";
import { parsePostgresAddress } from "./postgres-address.ts";
import type { SettingsReader } from "./settings-reader.ts";

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
