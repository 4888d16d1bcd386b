/** What `tools/list` publishes: JSON Schema 2020-12 from the tools' own schemas. */
import type { Tool as PublishedTool } from "@modelcontextprotocol/server";
import { z } from "zod";
import { TOOLS } from "../tools/catalog.ts";
import type { Tool } from "../tools/tool.ts";

type JsonSchema = z.core.JSONSchema.BaseSchema;

/**
 * Rules that clients would judge by themselves. The descriptions say them in words, and the parse holds to them: a client
 * that refuses a call hides our sentence about it from the model, and some end their program over one.
 */
const JUDGED_HERE = [
  "additionalProperties",
  "enum",
  "const",
  "minimum",
  "maximum",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "pattern",
  "propertyNames",
] as const;

/** Leaves types and descriptions. */
function open(schema: JsonSchema): void {
  const value: unknown = schema.enum?.[0];
  if (schema.type === "integer" || typeof value === "number") schema.type = "number";
  for (const rule of JUDGED_HERE) delete schema[rule];
}

/** Without `$schema`: 2020-12 is MCP's default. */
function jsonSchema(
  schema: z.ZodObject,
  io: "input" | "output",
  { unpublished = [], boundsIn }: Pick<Tool, "unpublished" | "boundsIn"> = {},
): Record<string, unknown> {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    target: "draft-2020-12",
    io,
    override: ({ jsonSchema: part }) => open(part),
  });
  for (const name of unpublished) delete json.properties?.[name];
  for (const [index, name] of (boundsIn?.names ?? []).entries()) {
    const { type } = z.object({ type: z.string() }).parse(json.properties?.[name]);
    const description = `This to ${boundsIn?.names.at(-1)}: as in ${boundsIn?.tool}`;
    const shown = { type, ...(index === 0 && { description }) };
    Object.assign(json.properties ?? {}, { [name]: shown });
  }
  return json;
}

let published: PublishedTool[] | undefined;

/** The tools as clients see them; computed on the first `tools/list`, not at start. */
export function toolList(): PublishedTool[] {
  published ??= TOOLS.map((tool) => ({
    name: tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: { type: "object", ...jsonSchema(tool.input, "input", tool) },
    outputSchema: { type: "object", ...jsonSchema(tool.output, "output") },
    annotations: { title: tool.title, ...tool.annotations },
    ...(tool.meta === undefined ? {} : { _meta: { ...tool.meta } }),
  }));
  return published;
}
