/** Formats dates for people and for programs, both in this machine's time zone. */

const padToTwoDigits = (value: number): string => String(Math.trunc(Math.abs(value))).padStart(2, "0");

/** Formats a local time as `2026-11-21 14:03`. */
export function formatLocalDateTime(atMs: number): string {
  const at = new Date(atMs);
  const date = `${at.getFullYear()}-${padToTwoDigits(at.getMonth() + 1)}-${padToTwoDigits(at.getDate())}`;
  return `${date} ${padToTwoDigits(at.getHours())}:${padToTwoDigits(at.getMinutes())}`;
}

/** Formats a local time in ISO 8601 with its offset, as `2026-11-21T14:03:22+01:00`. */
export function formatIsoWithOffset(atMs: number): string {
  const at = new Date(atMs);
  const eastMinutes = -at.getTimezoneOffset();
  const offset = `${eastMinutes < 0 ? "-" : "+"}${padToTwoDigits(eastMinutes / 60)}:${padToTwoDigits(eastMinutes % 60)}`;
  return `${formatLocalDateTime(atMs).replace(" ", "T")}:${padToTwoDigits(at.getSeconds())}${offset}`;
}
