/** Reads the blocks that people paste into their clients, from the README and docs/clients.md. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..", "..");
const read = (name: string): string => readFileSync(join(ROOT, name), "utf8");

/** The README's section on clients, followed by the document on all other clients. */
const DOCUMENTS = [
  /^## Connect a build from source$[\s\S]*?(?=^## )/m.exec(read("README.md"))?.[0] ?? "",
  read(join("docs", "clients.md")),
];

/**
 * Extracts the section of a client: from the line that starts with its name in bold and ends with a colon, to the next
 * such line.
 */
function sectionOf(client: string): string {
  const heading = /^\*\*[^*]+\*\*.*:$/gm;
  for (const document of DOCUMENTS) {
    const headings = [...document.matchAll(heading)];
    const at = headings.findIndex(([line]) => line.startsWith(`**${client}**`));
    if (at >= 0) return document.slice(headings[at]?.index, headings[at + 1]?.index);
  }
  throw new Error(`no document has a section for ${client}`);
}

/**
 * Returns the code block of a client in a language, unchanged.
 *
 * @param which the index of the block among those of that language
 * @throws Error if there is none
 */
export function blockOf(client: string, language: string, which = 0): string {
  const blocks = [...sectionOf(client).matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)];
  const block = blocks.filter((match) => match[1] === language)[which]?.[2];
  if (block === undefined) throw new Error(`${client} has no block ${which + 1} of ${language}`);
  return block;
}

/** Returns a block with its three placeholders filled in, and otherwise unchanged. */
export function fillIn(block: string, root: string, service: { baseUrl: string; apiKey: string }): string {
  return block
    .replaceAll("/absolute/path/to", root)
    .replaceAll("https://audio.example.com", service.baseUrl)
    .replaceAll("your-api-key", service.apiKey);
}
