/** Numbers the chapters of a plan, for lists, file names and callers. */

/**
 * @param index of the section
 * @returns 1 for the first section with a heading; 0 for text before it
 */
export function chapterNumber(
  sections: ReadonlyArray<{ readonly title: string | null }>,
  index: number,
): number {
  return sections[0]?.title === null ? index : index + 1;
}
