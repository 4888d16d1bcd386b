/**
 * Finds notes that no type names. Evidence: form and sequence. A mark behind words links to a note, and the note links
 * back to the place of the mark. A link in one direction is evidence only if several marks directly behind words link to
 * paragraphs that begin with the same numbers.
 */
import { Parser } from "htmlparser2";
import { hasWords } from "../text/characters.ts";
import { isSequence } from "../text/number-sequence.ts";
import { type Attributes, assertDepth, isInline, setOf } from "./page-elements.ts";

/** The notes of a page and their marks: elements by their number among the opening tags. */
export interface PageNotes {
  readonly notes: ReadonlySet<number>;
  readonly marks: ReadonlySet<number>;
}

interface Link {
  readonly element: number;
  readonly block: number;
  readonly target: string;
  readonly text: string;
  readonly isBehindWords: boolean;
  /** Whether the link is raised or stands directly behind a word, in contrast to `see paragraph 3`. */
  readonly isAttached: boolean;
}

interface LinkedPage extends PageNotes {
  /** Its place among the pages. */
  readonly index: number;
  readonly notes: Set<number>;
  readonly marks: Set<number>;
  readonly linksByBlock: Map<number, Link[]>;
  /** The numbers of blocks: those with which they begin, or those of items in a list. */
  readonly numbersByBlock: Map<number, number>;
}

/** An element that links can refer to. Blocks are counted by the tags of elements that are not inline. */
interface Place {
  readonly page: LinkedPage;
  readonly firstBlock: number;
  readonly lastBlock: number;
  /** The element to leave out if the place is a note; `null` if it cannot be one. */
  readonly noteElement: number | null;
}

interface OpenElement {
  readonly name: string;
  readonly attributes: Attributes;
  readonly element: number;
  readonly block: number;
  readonly headingCount: number;
  readonly isBehindWords: boolean;
  readonly isAttached: boolean;
}

const NOTE_ELEMENTS = setOf("p li div section aside dd dt tr blockquote");
const NOTE_CLASS = /(?:^|\s)(?:foot|end|rear|side)?note(?:\s|$)/i;
const HEADING = /^h[1-6]$/;
/** The text of a mark: `1`, `[12]`, `*`, `iv`, `注3`. */
const MARK =
  /^[\s[({【〔［（]{0,4}(?:note|nota|fn|注|註)?[\s.]{0,2}(?:\p{Nd}{1,4}|[a-z]|[ivxlc]{1,7}|[*†‡§¶‖※]{1,4})[\s\])}】〕］）.:]{0,4}$/iu;
/** A mark that is told from a number of the text by its form: `[12]`, `(a)`, `*`. */
const ENCLOSED_MARK = /[[({【〔［（*†‡§¶‖※注註]/u;
const MAX_LINK_CODE_UNITS = 20;
const FIRST_NUMBER = /^\s*[[(]?(\d{1,3})[\]).:\s]/;
const FIRST_CODE_UNITS = 12;
const MIN_ONE_WAY_MARKS = 3;
/** A place with more blocks than this is a chapter, and not a note. */
const MAX_NOTE_BLOCKS = 40;
/** Number of links of a block among which the link back is searched. */
const MAX_NOTE_LINKS = 20;
/** A note's block element, or the element with the class of a note, is at most this far above its `id`. */
const MAX_NOTE_DEPTH = 6;

/** Returns the address of a reference on a page of a book; `""` if it has none. */
function toAddress(path: string, href: string): string {
  try {
    return decodeURIComponent(new URL(href, `book:///${encodeURI(path)}`).href);
  } catch {
    return "";
  }
}

/** Returns the element that contains a note whose `id` is on the last of the given open elements. */
function findNoteElement(open: readonly OpenElement[]): number | null {
  const near = open.slice(-MAX_NOTE_DEPTH).reverse();
  if (near.some(({ name }) => HEADING.test(name))) return null;
  const named = near.find(({ attributes }) => NOTE_CLASS.test(attributes["class"] ?? ""));
  return (named ?? near.find(({ name }) => NOTE_ELEMENTS.has(name)))?.element ?? null;
}

function readLinks(path: string, html: string, index: number, places: Map<string, Place>): LinkedPage {
  const page: LinkedPage = {
    index,
    notes: new Set(),
    marks: new Set(),
    linksByBlock: new Map(),
    numbersByBlock: new Map(),
  };
  if (!/\bhref\b/i.test(html)) return page;
  const open: OpenElement[] = [];
  const address = toAddress(path, "");
  let [element, block, headingCount, isBehindWords, linkText] = [0, 0, 0, false, ""];
  let [blockStart, isAttached, raised, isLinkRaised] = ["", false, 0, false];
  /** The number of the last item of each open list; `NaN` for a list without numbers. */
  const itemNumbers: number[] = [];
  const changeBlock = (name: string): void => {
    if (isInline(name)) return;
    const [, number] = FIRST_NUMBER.exec(blockStart) ?? [];
    if (number !== undefined) page.numbersByBlock.set(block, Number(number));
    block += 1;
    isBehindWords = false;
    blockStart = "";
  };
  const parser = new Parser({
    onopentag: (name, attributes) => {
      element += 1;
      changeBlock(name);
      if (HEADING.test(name)) headingCount += 1;
      if (name === "a") [linkText, isLinkRaised] = ["", false];
      assertDepth(open.length);
      if (name === "sup") {
        raised += 1;
        isLinkRaised = true;
      }
      if (name === "ol" || name === "ul") itemNumbers.push(name === "ol" ? 0 : Number.NaN);
      if (name === "li") {
        const number = (itemNumbers.pop() ?? Number.NaN) + 1;
        itemNumbers.push(number);
        page.numbersByBlock.set(block, number);
      }
      open.push({
        ...{ name, attributes, element, block, headingCount, isBehindWords },
        isAttached: isAttached || raised > 0,
      });
    },
    ontext: (text) => {
      isBehindWords ||= hasWords(text);
      isAttached = /\S$/.test(text);
      if (blockStart.length < FIRST_CODE_UNITS) blockStart += text.slice(0, FIRST_CODE_UNITS);
      if (linkText.length <= MAX_LINK_CODE_UNITS) linkText += text;
    },
    onclosetag: (name) => {
      const closed = open.at(-1);
      if (closed === undefined) return;
      if (name === "sup") raised -= 1;
      if (name === "ol" || name === "ul") itemNumbers.pop();
      const { id, href } = closed.attributes;
      if (id !== undefined && !places.has(`${address}#${id}`)) {
        const noteElement = closed.headingCount === headingCount ? findNoteElement(open) : null;
        places.set(`${address}#${id}`, { page, firstBlock: closed.block, lastBlock: block, noteElement });
      }
      if (name === "a" && href !== undefined && linkText.length <= MAX_LINK_CODE_UNITS) {
        const link = {
          ...{ ...closed, block, target: toAddress(path, href), text: linkText },
          isAttached: closed.isAttached || isLinkRaised,
        };
        const links = page.linksByBlock.get(block);
        if (links === undefined) page.linksByBlock.set(block, [link]);
        else links.push(link);
      }
      open.pop();
      changeBlock(name);
    },
  });
  parser.end(html);
  return page;
}

/**
 * Whether a note has a link back to the place of its mark. A place may be an empty element beside its block. Of two
 * paragraphs that refer to each other, the note is the later one, and a number in a sentence, such as `see step 2`, is no
 * mark.
 */
function linksBack(note: Place, page: LinkedPage, mark: Link, places: ReadonlyMap<string, Place>): boolean {
  const isBefore = note.page === page ? note.lastBlock < mark.block : note.page.index < page.index;
  if (isBefore || !(mark.isAttached || ENCLOSED_MARK.test(mark.text))) return false;
  if (note.lastBlock - note.firstBlock > MAX_NOTE_BLOCKS) return false;
  for (let block = note.firstBlock; block <= note.lastBlock + 1; block += 1) {
    for (const { target } of (note.page.linksByBlock.get(block) ?? []).slice(0, MAX_NOTE_LINKS)) {
      const place = places.get(target);
      const isOfMark =
        place?.page === page && place.firstBlock <= mark.block + 1 && place.lastBlock >= mark.block - 1;
      if (isOfMark && place.lastBlock - place.firstBlock <= 1) return true;
    }
  }
  return false;
}

/** Whether the links of a page in one direction are the marks of notes: their numbers are those of the notes, and rise. */
function areOneWayMarks(marks: readonly Link[], places: ReadonlyMap<string, Place>): boolean {
  const numbers = marks.map(({ text }) => Number(/\d+/.exec(text)?.[0]));
  return (
    marks.length >= MIN_ONE_WAY_MARKS &&
    marks.every(({ target, isAttached }, index) => {
      const note = places.get(target);
      return isAttached && note?.page.numbersByBlock.get(note.firstBlock) === numbers[index];
    }) &&
    isSequence(numbers, { restarts: (number) => number === 1 })
  );
}

/**
 * Finds the notes of a book.
 *
 * @param pages the HTML of each page by its path
 */
export function findNotes(pages: ReadonlyMap<string, string>): ReadonlyMap<string, PageNotes> {
  const places = new Map<string, Place>();
  const linkedPages = new Map(
    [...pages].map(([path, html], index) => [path, readLinks(path, html, index, places)]),
  );
  for (const isConfirmed of [false, true]) {
    for (const page of linkedPages.values()) {
      const marks = [...page.linksByBlock.values()].flat().filter(({ target, text, isBehindWords }) => {
        const { noteElement = null } = places.get(target) ?? {};
        return noteElement !== null && isBehindWords && MARK.test(text);
      });
      const isOneWay = areOneWayMarks(marks, places);
      for (const mark of marks) {
        const note = places.get(mark.target);
        if (note === undefined || note.noteElement === null) continue;
        // Several marks may refer to one note, which links back to the first of them.
        const isNote = isConfirmed
          ? note.page.notes.has(note.noteElement)
          : isOneWay || linksBack(note, page, mark, places);
        if (!isNote) continue;
        note.page.notes.add(note.noteElement);
        page.marks.add(mark.element);
      }
    }
  }
  return linkedPages;
}
