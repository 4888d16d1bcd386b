/** Formats large numbers as in English texts. */

/** Formats 2048 as `2,048`. Avoids `toLocaleString`, whose language data takes 4 MiB, and 10 ms of the first call. */
export const withThousands = (count: number): string => String(count).replace(/\B(?=(?:\d{3})+$)/g, ",");
