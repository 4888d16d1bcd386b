/** The name of a ticket outside the ledger: that of its record, which nobody guesses without the API key, and its own. */

export interface TicketName {
  readonly recordId: string;
  readonly openedAtMs: number;
}

const PREFIX = "gen1";
const HANDLE = /^gen1-([0-9a-f]{32})-([1-9a-z][0-9a-z]{0,10})$/;
/** Short, and the same in every spelling of numbers that clients have. */
const RADIX = 36;

export const isTicketHandle = (text: string): boolean => text.startsWith(`${PREFIX}-`);

export const ticketHandle = ({ recordId, openedAtMs }: TicketName): string =>
  `${PREFIX}-${recordId}-${openedAtMs.toString(RADIX)}`;

/** `null`: it is none. */
export function ticketName(handle: string): TicketName | null {
  const [, recordId, opened] = HANDLE.exec(handle) ?? [];
  if (recordId === undefined || opened === undefined) return null;
  const openedAtMs = Number.parseInt(opened, RADIX);
  const name = { recordId, openedAtMs };
  // A number beyond what is exact would name another ticket, or none.
  return ticketHandle(name) === handle ? name : null;
}
