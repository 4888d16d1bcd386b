/** Formats dates for people and for programs, both in this machine's time zone. */

const padToTwoDigits = (value: number): string => String(Math.trunc(Math.abs(value))).padStart(2, "0");

/** Formats a local time as `2026-11-21 14:03`. */
export function formatLocalDateTime(atMs: number): string {
  const localDate = new Date(atMs);
  const date = `${localDate.getFullYear()}-${padToTwoDigits(localDate.getMonth() + 1)}-${padToTwoDigits(localDate.getDate())}`;
  return `${date} ${padToTwoDigits(localDate.getHours())}:${padToTwoDigits(localDate.getMinutes())}`;
}

/** Formats a local time in ISO 8601 with its offset, as `2026-11-21T14:03:22+01:00`. */
export function formatIsoWithOffset(atMs: number): string {
  const localDate = new Date(atMs);
  const eastMinutes = -localDate.getTimezoneOffset();
  const offset = `${eastMinutes < 0 ? "-" : "+"}${padToTwoDigits(eastMinutes / 60)}:${padToTwoDigits(eastMinutes % 60)}`;
  return `${formatLocalDateTime(atMs).replace(" ", "T")}:${padToTwoDigits(localDate.getSeconds())}${offset}`;
}
