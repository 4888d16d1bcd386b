/** The tags that players show: title, author, album and track. */

export interface TextTags {
  readonly title?: string | undefined;
  readonly author?: string | undefined;
  /** Title of the whole narration, if this file is one of its chapters. */
  readonly album?: string | undefined;
  /** Position among the files of the album, as in `3/12`. */
  readonly track?: string | undefined;
}

/** Returns the name and value of each tag that has a value. `names` has the format's name for each tag. */
export function buildTextTags(
  { title, author, album, track }: TextTags,
  names: Readonly<Record<keyof TextTags, string>>,
): ReadonlyArray<readonly [name: string, value: string]> {
  const values = { title, author, album, track };
  return (["title", "author", "album", "track"] as const).flatMap((key) => {
    const value = values[key];
    return value === undefined ? [] : [[names[key], value] as const];
  });
}
