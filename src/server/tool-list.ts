/** What `tools/list` publishes: JSON Schema 2020-12 from the tools' own schemas. The build puts the computed list in this module's place, so that a start builds no schema. */
import type { Tool as PublishedTool } from "@modelcontextprotocol/server";
import { z } from "zod";
import { TOOLS } from "../tools/catalog.ts";

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** `{ "type": t }` and nothing else. */
const isBareType = (schema: JsonSchema): boolean =>
  typeof schema.type === "string" && Object.keys(schema).length === 1;

/** Says the same in fewer words: what a tool list costs is paid in every conversation. */
function compact(schema: JsonSchema): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.propertyNames !== undefined) {
    delete schema.propertyNames;
    delete schema.additionalProperties;
  }
  if (schema.type === "number" && schema.enum?.every(Number.isInteger) === true) schema.type = "integer";
  const [value, none, ...more] = schema.anyOf ?? [];
  if (value === undefined || none?.type !== "null" || more.length > 0 || !isBareType(value)) return;
  delete schema.anyOf;
  Object.assign(schema, { type: [value.type, "null"] });
}

/** Without `$schema`: 2020-12 is MCP's default. */
function jsonSchema(schema: z.ZodObject, io: "input" | "output"): Record<string, unknown> {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    target: "draft-2020-12",
    io,
    override: ({ jsonSchema: part }) => compact(part),
  });
  return json;
}

let published: PublishedTool[] | undefined;

/** The tools as clients see them; computed on the first `tools/list`, not at start. */
export function toolList(): PublishedTool[] {
  published ??= TOOLS.map(({ name, title, description, annotations, input, output }) => ({
    name,
    title,
    description,
    inputSchema: { type: "object", ...jsonSchema(input, "input") },
    outputSchema: { type: "object", ...jsonSchema(output, "output") },
    annotations: { ...annotations },
  }));
  return published;
}
