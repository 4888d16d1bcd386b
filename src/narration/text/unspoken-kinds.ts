/** The kinds of text that is not spoken, each with its noun for one and for many pieces. */

export const UNSPOKEN_NOUNS = {
  front_matter: ["the front matter", "blocks of front matter"],
  html: ["a piece of HTML", "pieces of HTML"],
  code: ["a block of code", "blocks of code"],
  math: [
    "a formula, which may leave a gap in its sentence",
    "formulas, which may leave gaps in their sentences",
  ],
  latex: ["a command of LaTeX", "commands of LaTeX"],
  template: ["a template tag", "template tags"],
  emoji: ["a code of an emoji", "codes of emoji"],
  attribute: ["an attribute of markup", "attributes of markup"],
  citation: ["a citation", "citations"],
  comment: ["a comment", "comments"],
  badge: ["a badge", "badges"],
  footnote: ["a footnote", "footnotes"],
  ebook_frame: [
    "what the publisher puts around the book",
    "pieces of what the publisher puts around the book",
  ],
  time_code: ["a time code", "time codes"],
  ruby: ["the reading of a word", "readings of words"],
  note: ["a note of the transcriber", "notes of the transcriber"],
  table_frame: ["the frame of a table", "lines of tables’ frames"],
  mail_header: ["a line of a mail’s header", "lines of mails’ headers"],
  leader: ["a dot leader", "dot leaders"],
  page_mark: ["a page number or running head", "page numbers and running heads"],
  line_number: ["the number of a line of verse", "numbers of lines of verse"],
  illustration: ["the mark of an illustration", "marks of illustrations"],
  reference: ["the mark of a note", "marks of notes"],
  sound: ["a sound in brackets", "sounds in brackets"],
  script_mark: ["a transition of a script", "transitions of a script"],
  direction: ["a stage direction", "stage directions"],
  song: ["a line that is sung", "lines that are sung"],
  empty_cue: ["a cue without text", "cues without text"],
  repeat: ["a line that repeats the cue above", "lines that repeat the cue above"],
  no_time: ["a line above the first time", "lines above the first time"],
  image: ["an image without words", "images without words"],
  navigation: ["a menu or frame of the page", "pieces of menus and of the page’s frame"],
  aside: ["a box beside the text", "boxes beside the text"],
  book_matter: ["a table of contents, index, cover or imprint", "pages of contents, index, cover or imprint"],
  lost_entry: [
    "an entry of the contents, which has no place in the text",
    "entries of the contents, which have no place in the text",
  ],
  hidden: ["what the page hides", "pieces that the page hides"],
  no_words: ["a line without letters or digits", "lines without letters or digits"],
} as const satisfies Readonly<Record<string, readonly [one: string, many: string]>>;

/** A kind of text that is not spoken. `no_words` is text without any letter or digit. */
export type UnspokenKind = keyof typeof UNSPOKEN_NOUNS;
