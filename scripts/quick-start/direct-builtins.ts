/**
 * Lets a chunk take Node's own modules straight from the process. For an import Node first makes a module of its own
 * that reads every property of the one asked for, and some load more (of `node:fs` the streams, of `node:process`
 * the standard streams), which costs a start some milliseconds.
 */
const IMPORT = /^import (?:([\w$]+)|\{ ([^}]*) \}) from "(node:[\w/]+)";$/gm;

/** @param code a chunk of the bundle, not yet minified */
export function withDirectBuiltins(code: string): string {
  return code.replace(IMPORT, (_line, whole: string | undefined, named: string | undefined, id: string) => {
    const names = named?.replaceAll(" as ", ": ");
    // A Node too old to have that function must get as far as being told so.
    return `const ${whole ?? `{ ${names} }`} = process.getBuiltinModule?.("${id}") ?? {};`;
  });
}
