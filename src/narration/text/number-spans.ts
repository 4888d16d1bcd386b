/** Writes a list of numbers as a phrase, in which consecutive numbers form a span: "1 to 3 and 7". */

/**
 * Lists numbers in words, such as "1 to 3 and 7".
 *
 * @param numbers in ascending order
 * @param max maximum number of spans to name; the others are only counted: "1 to 3, 7 and 2 more"
 */
export function formatNumberSpans(numbers: readonly number[], max = Number.POSITIVE_INFINITY): string {
  const spans: string[] = [];
  for (let index = 0; index < numbers.length; index += 1) {
    const first = numbers[index] ?? 0;
    while (numbers[index + 1] === (numbers[index] ?? 0) + 1) index += 1;
    const last = numbers[index] ?? 0;
    spans.push(first === last ? `${first}` : `${first} to ${last}`);
  }
  const furtherCount = spans.length - max;
  if (furtherCount > 0) return `${spans.slice(0, max).join(", ")} and ${furtherCount} more`;
  const [end = ""] = spans.splice(-1);
  return spans.length === 0 ? end : `${spans.join(", ")} and ${end}`;
}
