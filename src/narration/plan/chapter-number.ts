/** Numbers the chapters of a plan, as lists, file names and callers do. */

/**
 * @param index of the section
 * @returns 1 for the first section that has a heading; 0 for what stands before it
 */
export function chapterNumber(
  sections: ReadonlyArray<{ readonly title: string | null }>,
  index: number,
): number {
  return sections[0]?.title === null ? index : index + 1;
}
