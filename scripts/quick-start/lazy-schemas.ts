/**
 * Lets the bundle construct each schema of the protocol's package when it is first asked for. The package makes
 * some hundreds of them while it loads, and again as many for the protocol's version that is spoken; a handshake
 * asks for about twenty. Nothing but the time of their construction changes: every schema is still made by the
 * package's own line, once.
 */
import { type ESTree, parseSync } from "rolldown/utils";
import { isWithin, type Node, namesIn, type Range } from "./names.ts";

/** The bundler puts the path of a module before its code; this one is the package's, up to the next path. */
const PACKAGE_REGION =
  /^\/\/ node_modules\/@modelcontextprotocol\/.*\.mjs$[\s\S]*?(?=^\/\/ (?:node_modules|src|package\.json)\b|$(?![\s\S]))/gm;

const SCHEMA_NAME = /Schema(?:\$\d+)?$/;

/** What fills the maps of schemas by name that nobody here reads, and would make every one. */
const FILLS_UNUSED_MAPS = /^for \(const .*\) register(?:\$\d+)?\(/;

const HELPERS = `
const onFirstUse = (make) => { let made; return () => (made ??= make()); };
const keep = (table, key, value) => { Object.defineProperty(table, key, { value, enumerable: true }); return value; };
`;

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Lets edits be told in any order; those at one place keep theirs. */
function applied(code: string, edits: readonly Edit[]): string {
  let text = "";
  let at = 0;
  for (const edit of [...edits].sort((a, b) => a.start - b.start || a.end - b.end)) {
    text += code.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return text + code.slice(at);
}

interface Constant {
  readonly name: string;
  readonly id: Range;
  readonly init: Range;
  /** Where its name holds. */
  readonly scope: Range;
}

/** The constants and the tables of a chunk that wait for their first use. */
interface Deferred {
  readonly constants: Constant[];
  readonly tables: ESTree.ObjectExpression[];
  /** Left out altogether. */
  readonly dropped: Range[];
}

const isFunction = (node: Node): boolean =>
  node.type === "ArrowFunctionExpression" || node.type === "FunctionExpression";

function deferredIn(program: ESTree.Program, code: string, regions: readonly Range[]): Deferred {
  const found: Deferred = { constants: [], tables: [], dropped: [] };
  const constant = ({ id, init }: ESTree.VariableDeclarator, scope: Range): void => {
    if (id.type === "Identifier" && init !== null) found.constants.push({ name: id.name, id, init, scope });
  };

  /** The function that makes all schemas of one version of the protocol: nothing in it does anything else. */
  const builder = (body: ESTree.FunctionBody): void => {
    for (const statement of body.body) {
      if (statement.type === "ReturnStatement" && statement.argument?.type === "ObjectExpression")
        found.tables.push(statement.argument);
      if (statement.type !== "VariableDeclaration") continue;
      for (const each of statement.declarations) {
        if (each.id.type !== "Identifier" || each.init === null || isFunction(each.init)) continue;
        if (each.init.type === "ObjectExpression" && /Schemas/.test(each.id.name))
          found.tables.push(each.init);
        else constant(each, body);
      }
    }
  };

  /** A function that remembers a table of what the builder made. */
  const keeper = (body: ESTree.FunctionBody): void => {
    if (!/= buildSchemas\d+\(\);/.test(code.slice(body.start, body.end))) return;
    for (const statement of body.body) {
      if (statement.type !== "ExpressionStatement" || statement.expression.type !== "AssignmentExpression")
        continue;
      if (statement.expression.right.type === "ObjectExpression")
        found.tables.push(statement.expression.right);
    }
  };

  for (const statement of program.body) {
    if (!regions.some((region) => isWithin(statement, region))) continue;
    if (
      statement.type === "ForOfStatement" &&
      FILLS_UNUSED_MAPS.test(code.slice(statement.start, statement.end))
    )
      found.dropped.push(statement);
    if (statement.type === "FunctionDeclaration" && statement.body !== null) {
      if (/^build(?:\$\d+)?$/.test(statement.id?.name ?? "")) builder(statement.body);
      else keeper(statement.body);
    }
    if (statement.type !== "VariableDeclaration") continue;
    for (const each of statement.declarations) {
      if (each.id.type !== "Identifier" || each.init === null || isFunction(each.init)) continue;
      if (/Schemas$/.test(each.id.name) && each.init.type === "ObjectExpression")
        found.tables.push(each.init);
      // A library that the package loads whole, and needs only to check what a person has filled in.
      const loadsLibrary = /^require_/.test(code.slice(each.init.start, each.init.end));
      const readsSchemas =
        each.init.type === "NewExpression" &&
        /Schema(?:\$\d+)?\./.test(code.slice(each.init.start, each.init.end));
      if (SCHEMA_NAME.test(each.id.name) || readsSchemas || loadsLibrary) constant(each, program);
    }
  }
  return found;
}

/**
 * @param code a chunk of the bundle, not yet minified
 * @returns the same chunk with the package's schemas made on first use, and how many constants that were
 */
export function withLazySchemas(code: string): { readonly code: string; readonly deferredCount: number } {
  const regions = [...code.matchAll(PACKAGE_REGION)].map(({ index, 0: text }) => ({
    start: index,
    end: index + text.length,
  }));
  if (regions.length === 0) return { code, deferredCount: 0 };
  const { program } = parseSync("chunk.js", code);
  const { uses, bindings } = namesIn(program);
  const { constants, tables, dropped } = deferredIn(program, code, regions);
  /** Whether a name at a place is the one of this constant, and not of another in a scope further in. */
  const isOf = (constant: Constant, place: Range): boolean =>
    isWithin(place, constant.scope) &&
    !constants.some(
      (other) =>
        other.name === constant.name &&
        other.scope !== constant.scope &&
        isWithin(other.scope, constant.scope) &&
        isWithin(place, other.scope),
    );
  const once = constants.filter(
    (constant) =>
      bindings.filter(({ name, node }) => name === constant.name && isOf(constant, node)).length === 1,
  );
  const inTables = new Set(tables.flatMap(({ properties }) => properties.map(({ start }) => start)));
  const edits: Edit[] = [];
  for (const constant of once) {
    const { name, id } = constant;
    for (const use of uses) {
      if (use.name !== name || use.node.start === id.start || !isOf(constant, use.node)) continue;
      const isEntry = use.isShorthand && !inTables.has(use.node.start);
      edits.push({ start: use.node.end, end: use.node.end, text: isEntry ? `: ${name}()` : "()" });
    }
  }
  for (const { init } of once) {
    edits.push({ start: init.start, end: init.start, text: "onFirstUse(() => (" });
    edits.push({ start: init.end, end: init.end, text: "))" });
  }
  const entriesOf = (table: ESTree.ObjectExpression): void => {
    for (const property of table.properties) {
      if (property.type !== "Property") continue;
      const { key, value } = property;
      if (value.type === "ObjectExpression") {
        entriesOf(value);
        continue;
      }
      const name = key.type === "Identifier" ? JSON.stringify(key.name) : code.slice(key.start, key.end);
      edits.push({
        start: property.start,
        end: value.start,
        text: `get ${name}() { return keep(this, ${name}, `,
      });
      edits.push({ start: property.end, end: property.end, text: "); }" });
    }
  };
  for (const table of tables) entriesOf(table);
  const kept = edits.filter((edit) => !dropped.some((range) => isWithin(edit, range)));
  const all = [...kept, ...dropped.map(({ start, end }) => ({ start, end, text: "" }))];
  return { code: HELPERS + applied(code, all), deferredCount: once.length };
}
