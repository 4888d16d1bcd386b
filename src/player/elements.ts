/** Finds and fills the page's elements. Inserts every text as text, never as markup. */

/**
 * Finds an element of the page.
 *
 * @throws Error if the page lacks it
 */
export function getElementOfType<T extends Element>(selector: string, kind: new () => T): T {
  const element = document.querySelector(selector);
  if (element instanceof kind) return element;
  throw new Error(`no ${selector}`);
}

/** Finds an HTML element of the page by its CSS selector. Throws an Error if the page has no such element. */
export const getElement = (selector: string): HTMLElement => getElementOfType(selector, HTMLElement);
/** Finds a button of the page by its CSS selector. Throws an Error if the page has no such button. */
export const getButton = (selector: string): HTMLButtonElement =>
  getElementOfType(selector, HTMLButtonElement);

/** Creates an element that contains a text, followed by the given nodes. Does not insert the element into the page. */
export function makeElement<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  text = "",
  ...children: Node[]
): HTMLElementTagNameMap[Name] {
  const created = document.createElement(name);
  created.textContent = text;
  created.append(...children);
  return created;
}

/** Shows a status sentence, which screen readers announce. */
export function showStatus(sentence: string, isBad = false): void {
  const messageElement = getElement("#say");
  if (messageElement.textContent !== sentence) messageElement.textContent = sentence;
  messageElement.classList.toggle("bad", isBad);
}
