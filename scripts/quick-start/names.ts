/** Where names are bound and used in a chunk of the bundle. */
import { type ESTree, Visitor } from "rolldown/utils";

export type Node = ESTree.Node;
/** A stretch of the text, in UTF-16 units. */
export type Range = Pick<Node, "start" | "end">;

export const isWithin = (node: Range, range: Range): boolean =>
  node.start >= range.start && node.end <= range.end;

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

export interface Names {
  /** Where an identifier stands for a value. */
  readonly uses: readonly { readonly name: string; readonly node: Range; readonly isShorthand: boolean }[];
  /** Where a name is bound. */
  readonly bindings: readonly { readonly name: string; readonly node: Range }[];
}

/** Every use and every binding of a name in a program. */
export function namesIn(program: ESTree.Program): Names {
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
