/** What the build changes so that a start loads less: the same values, made later. */
import { describe, expect, it } from "vitest";
import { withDirectBuiltins } from "../../scripts/quick-start/direct-builtins.ts";
import { withLazySchemas } from "../../scripts/quick-start/lazy-schemas.ts";

/** A chunk as the bundler writes it, with every shape in which the protocol's package keeps its schemas. */
const CHUNK = `
// node_modules/zod/index.js
const make = (name, ...parts) => { made.push(name); return { name, parts, extend: (more) => make(name + "+", more) }; };
const require_library = () => { made.push("library"); return { Checker: class {} }; };
// node_modules/@modelcontextprotocol/core/dist/schemas.mjs
const IdSchema = make("id");
const RequestSchema = make("request", { id: IdSchema });
const CallSchema = RequestSchema.extend({ IdSchema });
const NeverUsedSchema = make("never");
const ShadowedSchema = make("shadowed");
var import_library = require_library();
const ROOT_KEYS = new Set(Object.keys(RequestSchema.parts[0]));
const exportsOf = { IdSchema: () => IdSchema };
const otherSchemas = { NeverUsedSchema };
function build() {
	const IdSchema = make("id of an era");
	const shape = { id: IdSchema };
	const CallSchema$1 = make("call of an era", shape);
	const lift = (one) => make("lifted", one);
	const dispatchSchemas = { call: lift(CallSchema$1), deep: { never: lift(IdSchema) } };
	return { IdSchema, CallSchema: CallSchema$1, dispatchSchemas, UnionSchema: make("union", CallSchema$1) };
}
let memo;
function buildSchemas2025() { return memo ??= build(); }
let table;
function keeper() {
	const s = buildSchemas2025();
	table = { call: s.CallSchema, id: s.IdSchema };
	return table;
}
const shadowed = (ShadowedSchema) => ShadowedSchema;
const all = {};
function register(key, schema) { all[key] = schema; }
for (const key of Object.keys(exportsOf)) register(key, exportsOf[key]());
// src/server/main.ts
const OwnSchema = make("own");
`;

const END = `
return { made, get call() { return CallSchema; }, get id() { return IdSchema; }, exportsOf, keeper, build, shadowed,
  get keys() { return ROOT_KEYS; }, get library() { return import_library; }, OwnSchema };`;

/** What a chunk gives when it runs, and the names of what was made on the way. */
function run(chunk: string) {
  return new Function("made", `${chunk}`)([]);
}

describe("schemas made on first use", () => {
  const { code, deferredCount } = withLazySchemas(CHUNK + END.replaceAll("\n", " "));

  it("leaves all unmade until it is asked for, but our own and what a parameter shadows", () => {
    expect(run(CHUNK + END).made).toEqual(
      expect.arrayContaining(["id", "request", "request+", "never", "library", "own"]),
    );
    expect(run(code).made).toEqual(["shadowed", "own"]);
  });

  it("makes each once, with what it stands on", () => {
    const lazy = run(code);
    expect(lazy.call).toBe(lazy.call);
    expect(lazy.call.parts[0].IdSchema).toBe(lazy.exportsOf.IdSchema());
    expect(lazy.made.slice(2)).toEqual(["id", "request", "request+"]);
    expect([...lazy.keys]).toEqual(["id"]);
    expect(lazy.library.Checker).toBeTypeOf("function");
  });

  it("makes an entry of a table when it is read, and says the same names", () => {
    const lazy = run(code);
    const table = lazy.keeper();
    expect(lazy.made.slice(2)).toEqual([]);
    expect(Object.keys(table)).toEqual(["call", "id"]);
    expect(table.call).toBe(table.call);
    expect(lazy.made.slice(2)).toEqual(["id of an era", "call of an era"]);
    expect(table.call.parts[0].id).toBe(table.id);
    const built = lazy.build();
    expect(Object.keys(built)).toEqual(["IdSchema", "CallSchema", "dispatchSchemas", "UnionSchema"]);
    expect(built.dispatchSchemas.call.parts[0]).toBe(built.CallSchema);
    expect(built.dispatchSchemas.deep.never.parts[0]).toBe(built.IdSchema);
    expect(built.UnionSchema.parts[0]).toBe(built.CallSchema);
  });

  it("leaves a parameter of the same name alone", () => {
    expect(run(code).shadowed(7)).toBe(7);
  });

  it("counts what it could defer, so that the build can say when that is no longer much", () => {
    expect(deferredCount).toBeGreaterThan(8);
    expect(withLazySchemas("const IdSchema = make();").deferredCount).toBe(0);
  });
});

describe("Node's own modules", () => {
  it("are taken straight, whole or by name", async () => {
    const code = withDirectBuiltins(
      'import whole from "node:path";\nimport { join as j, sep } from "node:path";\nimport { z } from "zod";\n',
    );
    expect(code).toContain('import { z } from "zod";');
    const values = new Function(`${code.replace(/^import .*$/m, "")} return { whole, j, sep };`)();
    const path = await import("node:path");
    expect(values).toEqual({ whole: path.default, j: path.join, sep: path.sep });
  });
});
