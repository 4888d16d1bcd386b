/** Text of anybody as a terminal may show it: what could move the cursor or turn the line is spelled out. */
import { UNSEEN } from "../contract/unicode.ts";

export function printable(text: string): string {
  return text.replace(UNSEEN, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

/** JSON that means the same and holds nothing that a terminal would act on. */
export function printableJson(value: unknown): string {
  const spell = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  // By code units, as JSON has it; the line breaks between its own lines stay.
  return JSON.stringify(value, null, 2).replace(/[^\P{C}\n]|[\u2028\u2029]/gu, (character) =>
    character.split("").map(spell).join(""),
  );
}
