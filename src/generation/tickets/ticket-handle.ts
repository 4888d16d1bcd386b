/** The name of a ticket outside the ledger: that of its record, which nobody guesses without the API key, and its own. */

export interface TicketName {
  readonly recordId: string;
  readonly openedAtMs: number;
}

const PREFIX = "gen1-";
const HANDLE = /^gen1-([0-9a-f]{32})-([0-9a-z]{1,11})$/;
/** Short, and of characters that every client passes on. */
const RADIX = 36;

export const isTicketHandle = (text: string): boolean => text.startsWith(PREFIX);

export const spellTicket = (openedAtMs: number): string => openedAtMs.toString(RADIX);

/** `null`: nothing is spelt so; a number beyond what is exact would name another ticket, or none. */
export function nameOfTicket(spelt: string): number | null {
  const openedAtMs = Number.parseInt(spelt, RADIX);
  return openedAtMs > 0 && spellTicket(openedAtMs) === spelt ? openedAtMs : null;
}

export const ticketHandle = ({ recordId, openedAtMs }: TicketName): string =>
  `${PREFIX}${recordId}-${spellTicket(openedAtMs)}`;

/** `null`: it is none. */
export function ticketName(handle: string): TicketName | null {
  const [, recordId, spelt] = HANDLE.exec(handle) ?? [];
  const openedAtMs = spelt === undefined ? null : nameOfTicket(spelt);
  return recordId === undefined || openedAtMs === null ? null : { recordId, openedAtMs };
}
