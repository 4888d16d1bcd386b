/** Finds what goes wrong when a value is pasted from a shell or a file of variables. */

const QUOTATION_MARKS = /^["'`\u2018-\u201f]|["'`\u2018-\u201f]$/;
/** Matches the name of a variable in the syntax of a shell, of Windows or of a template, or what a script writes for none. */
const VARIABLE_NAME =
  /^(?:\$[({]?(?:env:)?[A-Za-z_]\w*[)}]?|\$\(.*\)|%[A-Za-z_]\w*%|\{\{.*\}\}|<[^>]*>|undefined|null|none)$/i;
const ASSIGNMENT = /^(?:export\s+|set\s+|\$env:)?[A-Z][A-Z0-9_]*\s*=\s*\S/;

/**
 * Returns what is wrong with a key or an address that was pasted with the syntax around it, in a clause that follows
 * the name of the variable; `null` if nothing is. Quotes nothing of the value, which may be a secret.
 */
export function findPastingFault(text: string): string | null {
  if (ASSIGNMENT.test(text)) return "holds a name and = before its value: leave them out";
  if (QUOTATION_MARKS.test(text)) return "holds quotation marks around its value: leave them out";
  if (VARIABLE_NAME.test(text)) return "holds the name of a variable or a placeholder, and not its value";
  return null;
}

/** Returns a pasted value without its quotation marks. */
export const withoutQuotes = (text: string): string =>
  text.replace(new RegExp(`(?:${QUOTATION_MARKS.source})+`, "g"), "");
