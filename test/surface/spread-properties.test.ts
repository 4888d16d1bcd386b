/**
 * The compiler does not report unknown properties in an object literal with a spread, so code may use a property's old
 * name there after the property was renamed. This test finds unknown properties with the compiler's API.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import type { Node, ObjectLiteralExpression } from "typescript/unstable/ast";
import {
  isArrowFunction,
  isCallExpression,
  isComputedPropertyName,
  isObjectLiteralExpression,
  isParenthesizedExpression,
  isPropertyAccessExpression,
  isSpreadAssignment,
} from "typescript/unstable/ast/is";
import { API, type Checker, type Type, TypeFlags } from "typescript/unstable/sync";
import { describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "..", "..");

const OPEN_TYPES = TypeFlags.Any | TypeFlags.Unknown | TypeFlags.NonPrimitive | TypeFlags.TypeParameter;

/** Returns whether a value of the type may have the property. A type that is not fully known may have any property. */
function mayHave(checker: Checker, type: Type, property: string): boolean {
  if ((type.flags & OPEN_TYPES) !== 0) return true;
  if (type.isUnionType()) return type.getTypes().some((member) => mayHave(checker, member, property));
  return (
    checker.getPropertyOfType(type, property) !== undefined || checker.getIndexInfosOfType(type).length > 0
  );
}

/** Lists the properties of the type of an object literal. The list is empty for any other type. */
function literalProperties(checker: Checker, type: Type): string[] {
  const members = type.isUnionType() ? type.getTypes() : [type];
  return members
    .filter((member) => member.getSymbol()?.name === "__object")
    .flatMap((member) => checker.getPropertiesOfType(member).map(({ name }) => name));
}

/**
 * Returns the element type that is expected of `list.map((element) => literal)`. The compiler infers the type of such a
 * literal from the literal itself.
 */
function expectedElementType(checker: Checker, literal: ObjectLiteralExpression): Type | undefined {
  let body: Node = literal;
  while (isParenthesizedExpression(body.parent)) body = body.parent;
  const callback = body.parent;
  if (!isArrowFunction(callback) || callback.body !== body) return undefined;
  const call = callback.parent;
  if (!isCallExpression(call) || !isPropertyAccessExpression(call.expression)) return undefined;
  if (call.expression.name.text !== "map") return undefined;
  const list = checker.getContextualType(call);
  return list === undefined ? undefined : checker.getIndexInfosOfType(list)[0]?.valueType;
}

/**
 * Lists the properties of a literal that its expected type does not have: those that are written in it, and those of
 * the object literals that it spreads. A property of any other spread value counts as known, because the literal may
 * replace it.
 */
function unknownProperties(checker: Checker, literal: ObjectLiteralExpression): string[] {
  const expected = expectedElementType(checker, literal) ?? checker.getContextualType(literal);
  if (expected === undefined) return [];
  const knownTypes = [expected];
  const names = new Set<string>();
  for (const property of literal.properties) {
    if (!isSpreadAssignment(property)) {
      const { name } = property;
      if (name !== undefined && !isComputedPropertyName(name)) names.add(name.getText().replaceAll('"', ""));
      continue;
    }
    const type = checker.getTypeAtLocation(property.expression);
    if (type === undefined) continue;
    const written = literalProperties(checker, type);
    if (written.length === 0) knownTypes.push(type);
    for (const name of written) names.add(name);
  }
  return [...names].filter((name) => !knownTypes.some((type) => mayHave(checker, type, name)));
}

function spreadLiterals(node: Node): ObjectLiteralExpression[] {
  const found: ObjectLiteralExpression[] = [];
  const visit = (child: Node): void => {
    if (
      isObjectLiteralExpression(child) &&
      child.properties.some((property) => isSpreadAssignment(property))
    ) {
      found.push(child);
    }
    child.forEachChild(visit);
  };
  visit(node);
  return found;
}

/**
 * Checks the sources of projects, without their dependencies. Returns `<path>: <property>` for each unknown property.
 */
function findUnknownProperties(root: string, projects: readonly string[]): string[] {
  const api = new API({ cwd: root });
  try {
    const snapshot = api.updateSnapshot({ openProjects: projects.map((name) => join(root, name)) });
    return snapshot.getProjects().flatMap(({ program, checker, rootFiles }) =>
      rootFiles.flatMap((name) => {
        const source = program.getSourceFile(name);
        const literals = source === undefined ? [] : spreadLiterals(source);
        return literals.flatMap((literal) =>
          unknownProperties(checker, literal).map((property) => `${relative(root, name)}: ${property}`),
        );
      }),
    );
  } finally {
    api.close();
  }
}

/**
 * A project of one file, in which two properties were renamed: `endSeconds` to `toSeconds`, `startSeconds` to
 * `fromSeconds`.
 */
const STALE_SOURCE = `interface Stretch { fromSeconds: number; toSeconds: number }
  export const shorten = (stretch: Stretch): Stretch => ({ ...stretch, endSeconds: 1 });
  export const shortenAll = (stretches: readonly Stretch[]): { all: readonly Stretch[] } => ({
    all: stretches.map((stretch) => ({ ...stretch, endSeconds: 1 })),
  });
  export const widen = (stretch: Stretch): Stretch => ({ ...stretch, toSeconds: 9 });
  export const move = (stretch: Stretch, isFirst: boolean): Stretch => {
    const start = isFirst ? {} : { startSeconds: 2 };
    return { ...stretch, ...start };
  };`;

describe("the properties beside a spread", () => {
  it("are all known to the expected type or to the spread value", () => {
    const projects = ["tsconfig.json", "src/player/tsconfig.json", "test/player/tsconfig.json"];
    expect(findUnknownProperties(ROOT, projects)).toEqual([]);
  });

  it("are found if they keep an old name", () => {
    const folder = mkdtempSync(join(tmpdir(), "spread-"));
    try {
      writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ files: ["stale.ts"] }));
      writeFileSync(join(folder, "stale.ts"), STALE_SOURCE);
      expect(findUnknownProperties(folder, ["tsconfig.json"])).toEqual([
        "stale.ts: endSeconds",
        "stale.ts: endSeconds",
        "stale.ts: startSeconds",
      ]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
