/**
 * Lets the bundle construct each schema of the protocol's package when it is first asked for. The package makes
 * some hundreds of them while it loads, and again as many for the protocol's version that is spoken; a handshake
 * asks for about twenty. Nothing but the time of their construction changes: every schema is still made by the
 * package's own line, once.
 */
import { type ESTree, parseSync, Visitor } from "rolldown/utils";

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

/** Fewer means that the package is written in another way, and that this file must follow. */
const LEAST_EXPECTED = 300;

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

type Node = ESTree.Node;
type Range = Pick<Node, "start" | "end">;

const isWithin = (node: Range, range: Range): boolean => node.start >= range.start && node.end <= range.end;

/** The names that a declaration or a parameter binds. */
function boundNames(pattern: Node | null): string[] {
  switch (pattern?.type) {
    case "Identifier":
      return [pattern.name];
    case "ObjectPattern":
      return pattern.properties.flatMap((each) =>
        boundNames(each.type === "RestElement" ? each.argument : each.value),
      );
    case "ArrayPattern":
      return pattern.elements.flatMap((each) => boundNames(each));
    case "AssignmentPattern":
      return boundNames(pattern.left);
    case "RestElement":
      return boundNames(pattern.argument);
    default:
      return [];
  }
}

interface Names {
  /** Where an identifier stands for a value. */
  readonly uses: readonly { readonly name: string; readonly node: Range; readonly isShorthand: boolean }[];
  /** Where a name is bound. */
  readonly bindings: readonly { readonly name: string; readonly node: Range }[];
}

/** Every use and every binding of a name in a program. */
function namesIn(program: ESTree.Program): Names {
  // By place, since the visitor meets a shorthand twice.
  const identifiers = new Map<number, { name: string; node: Range }>();
  const noUses = new Set<number>();
  const shorthands = new Set<number>();
  const bindings: { name: string; node: Range }[] = [];
  const bind = (pattern: Node | null): void => {
    if (pattern !== null) for (const name of boundNames(pattern)) bindings.push({ name, node: pattern });
  };
  const key = (node: { readonly computed: boolean; readonly key: Node }): void => {
    if (!node.computed) noUses.add(node.key.start);
  };
  const callable = (node: ESTree.Function | ESTree.ArrowFunctionExpression): void => {
    bind(node.id);
    for (const each of node.params) bind("parameter" in each ? each.parameter : each);
  };
  new Visitor({
    Identifier: (node) => void identifiers.set(node.start, { name: node.name, node }),
    MemberExpression: (node) => {
      if (!node.computed) noUses.add(node.property.start);
    },
    Property: (node) => {
      if (node.shorthand) shorthands.add(node.key.start);
      else key(node);
    },
    MethodDefinition: key,
    PropertyDefinition: key,
    VariableDeclarator: (node) => bind(node.id),
    FunctionDeclaration: callable,
    FunctionExpression: callable,
    ArrowFunctionExpression: callable,
    ClassDeclaration: (node) => bind(node.id),
    ClassExpression: (node) => bind(node.id),
    CatchClause: (node) => bind(node.param),
    ImportSpecifier: (node) => bind(node.local),
    ImportDefaultSpecifier: (node) => bind(node.local),
    ImportNamespaceSpecifier: (node) => bind(node.local),
    // What other chunks import must be the schema itself.
    ExportSpecifier: (node) => bind(node.local),
  }).visit(program);
  const uses = [...identifiers.values()]
    .filter(({ node }) => !noUses.has(node.start))
    .map((each) => ({ ...each, isShorthand: shorthands.has(each.node.start) }));
  return { uses, bindings };
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

/** The constants and the tables of a chunk that wait for their first use. */
interface Deferred {
  readonly constants: { readonly name: string; readonly id: Range; readonly init: Range; readonly scope: Range }[];
  readonly tables: ESTree.ObjectExpression[];
  /** Left out altogether. */
  readonly dropped: Range[];
}

const isFunction = (node: Node): boolean => node.type === "ArrowFunctionExpression" || node.type === "FunctionExpression";

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
        if (each.init.type === "ObjectExpression" && /Schemas/.test(each.id.name)) found.tables.push(each.init);
        else constant(each, body);
      }
    }
  };

  /** A function that remembers a table of what the builder made. */
  const keeper = (body: ESTree.FunctionBody): void => {
    if (!/= buildSchemas\d+\(\);/.test(code.slice(body.start, body.end))) return;
    for (const statement of body.body) {
      if (statement.type !== "ExpressionStatement" || statement.expression.type !== "AssignmentExpression") continue;
      if (statement.expression.right.type === "ObjectExpression") found.tables.push(statement.expression.right);
    }
  };

  for (const statement of program.body) {
    if (!regions.some((region) => isWithin(statement, region))) continue;
    if (statement.type === "ForOfStatement" && FILLS_UNUSED_MAPS.test(code.slice(statement.start, statement.end)))
      found.dropped.push(statement);
    if (statement.type === "FunctionDeclaration" && statement.body !== null) {
      if (/^build(?:\$\d+)?$/.test(statement.id?.name ?? "")) builder(statement.body);
      else keeper(statement.body);
    }
    if (statement.type !== "VariableDeclaration") continue;
    for (const each of statement.declarations) {
      if (each.id.type !== "Identifier" || each.init === null || isFunction(each.init)) continue;
      if (/Schemas$/.test(each.id.name) && each.init.type === "ObjectExpression") found.tables.push(each.init);
      const readsSchemas = each.init.type === "NewExpression" && /Schema(?:\$\d+)?\./.test(code.slice(each.init.start, each.init.end));
      if (SCHEMA_NAME.test(each.id.name) || readsSchemas) constant(each, program);
    }
  }
  return found;
}

/**
 * @param code a chunk of the bundle, not yet minified
 * @returns the same chunk with the package's schemas made on first use
 * @throws when the package is no longer written in the way that this relies on
 */
export function withLazySchemas(code: string): string {
  const regions = [...code.matchAll(PACKAGE_REGION)].map(({ index, 0: text }) => ({
    start: index,
    end: index + text.length,
  }));
  if (regions.length === 0) return code;
  const { program } = parseSync("chunk.js", code);
  const { uses, bindings } = namesIn(program);
  const { constants, tables, dropped } = deferredIn(program, code, regions);
  const once = constants.filter(
    ({ name, scope }) => bindings.filter((each) => each.name === name && isWithin(each.node, scope)).length === 1,
  );
  if (once.length < LEAST_EXPECTED) throw new Error(`Only ${once.length} schemas of the protocol's package could be deferred: see scripts/lazy-schemas.ts.`);
  const inTables = new Set(tables.flatMap(({ properties }) => properties.map(({ start }) => start)));
  const edits: Edit[] = [];
  for (const { name, id, scope } of once) {
    for (const use of uses) {
      if (use.name !== name || use.node.start === id.start || !isWithin(use.node, scope)) continue;
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
      edits.push({ start: property.start, end: value.start, text: `get ${name}() { return keep(this, ${name}, ` });
      edits.push({ start: property.end, end: property.end, text: "); }" });
    }
  };
  for (const table of tables) entriesOf(table);
  const kept = edits.filter((edit) => !dropped.some((range) => isWithin(edit, range)));
  return HELPERS + applied(code, [...kept, ...dropped.map(({ start, end }) => ({ start, end, text: "" }))]);
}
