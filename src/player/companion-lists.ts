/** Shows chapters and sentences to jump to, and the sentence that is being spoken. */
import { type Cue, findIndexAt, parseChapters, parseCues, type TimedLabel } from "./captions.ts";
import { getElement, makeElement } from "./elements.ts";
import { readTextFile } from "./pieces.ts";
import { formatClock } from "./shown-result.ts";

/**
 * Shows the sentences and the chapters of one sound in two lists. A click on an entry calls `jump` with the entry's
 * start time in seconds. {@link CompanionLists.show} marks the entries that are being played.
 */
export class CompanionLists {
  readonly #jump: (seconds: number) => void;
  #cues: readonly Cue[] = [];
  #chapters: readonly TimedLabel[] = [];
  #loadCount = 0;

  constructor(jump: (seconds: number) => void) {
    this.#jump = jump;
  }

  clear(): void {
    this.#loadCount += 1;
    this.#fill("#lines", []);
    this.#fill("#chapters", []);
    this.#cues = [];
    this.#chapters = [];
    getElement("#cue").hidden = true;
  }

  /**
   * Loads captions and chapters.
   *
   * @param uri address of the audio file
   */
  async load(uri: string): Promise<void> {
    this.clear();
    const countAtStart = this.#loadCount;
    const [captions, chapters] = await Promise.all([
      readTextFile(`${uri}/captions`),
      readTextFile(`${uri}/chapters`),
    ]);
    if (countAtStart !== this.#loadCount) return;
    this.set(parseCues(captions), parseChapters(chapters));
  }

  set(cues: readonly Cue[], chapters: readonly TimedLabel[]): void {
    // A list that is filled again loses the focus.
    if (JSON.stringify([cues, chapters]) === JSON.stringify([this.#cues, this.#chapters])) return;
    this.#cues = cues;
    this.#chapters = chapters;
    this.#fill("#lines", cues);
    this.#fill("#chapters", chapters);
    getElement("#cue").hidden = cues.length === 0;
  }

  show(seconds: number): void {
    const cueIndex = findIndexAt(this.#cues, seconds);
    const cue = this.#cues[cueIndex];
    const spoken = cue !== undefined && seconds < cue.endSeconds + 0.4 ? cue.text : "";
    const element = getElement("#cue");
    if (element.textContent !== spoken) element.textContent = spoken;
    this.#markCurrent("#lines", cueIndex);
    this.#markCurrent("#chapters", findIndexAt(this.#chapters, seconds));
  }

  #markCurrent(selector: string, index: number): void {
    const list = getElement(`${selector} ol`);
    const [old] = list.getElementsByClassName("now");
    const current = list.children[index];
    if (old === current) return;
    old?.classList.remove("now");
    old?.firstElementChild?.removeAttribute("aria-current");
    current?.classList.add("now");
    current?.firstElementChild?.setAttribute("aria-current", "true");
    if (current instanceof HTMLElement && list.clientHeight > 0) {
      list.scrollTop = current.offsetTop - list.offsetTop - list.clientHeight / 2;
    }
  }

  #fill(selector: string, labels: readonly TimedLabel[]): void {
    const box = getElement(selector);
    box.hidden = labels.length === 0;
    const items = labels.map((label) => {
      const jump = makeElement(
        "button",
        "",
        makeElement("span", formatClock(label.startSeconds)),
        makeElement("bdi", label.text),
      );
      jump.onclick = () => this.#jump(label.startSeconds);
      return makeElement("li", "", jump);
    });
    getElement(`${selector} ol`).replaceChildren(...items);
  }
}
