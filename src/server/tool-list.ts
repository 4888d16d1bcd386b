/** What `tools/list` publishes: JSON Schema 2020-12 from the tools' own schemas. */
import type { Tool as PublishedTool } from "@modelcontextprotocol/server";
import { z } from "zod";
import { TOOLS } from "../tools/catalog.ts";
import type { Tool } from "../tools/tool.ts";

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** `{ "type": t }` and nothing else. */
const isBareType = (schema: JsonSchema): boolean =>
  typeof schema.type === "string" && Object.keys(schema).length === 1;

/** Says the same in fewer words: what a tool list costs is paid in every conversation. */
function compact(schema: JsonSchema): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  // A bound that the description states is not said twice; clients that drop bounds show the description all the same.
  const { minimum, maximum, description } = schema;
  if (description?.includes(`${minimum} to ${maximum}`) === true) {
    delete schema.minimum;
    delete schema.maximum;
  }
  if (schema.propertyNames !== undefined) {
    delete schema.propertyNames;
    delete schema.additionalProperties;
  }
  // Some dialects refuse a whole request over an enum of numbers: the description names the values, the parse holds to them.
  if (schema.enum?.every(Number.isInteger) === true) {
    schema.type = "integer";
    delete schema.enum;
  }
  const [value, none, ...more] = schema.anyOf ?? [];
  if (value === undefined || none?.type !== "null" || more.length > 0 || !isBareType(value)) return;
  delete schema.anyOf;
  Object.assign(schema, { type: [value.type, "null"] });
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
    override: ({ jsonSchema: part }) => compact(part),
  });
  for (const name of unpublished) delete json.properties?.[name];
  for (const [index, name] of (boundsIn?.names ?? []).entries()) {
    const { type } = z.object({ type: z.string() }).parse(json.properties?.[name]);
    const description = `This to ${boundsIn?.names.at(-1)}: as in ${boundsIn?.tool}`;
    // `number` is shorter than `integer`, and the parse refuses fractions all the same.
    const shown = { type: type.replace("integer", "number"), ...(index === 0 && { description }) };
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
    annotations: { ...tool.annotations },
    ...(tool.meta === undefined ? {} : { _meta: { ...tool.meta } }),
  }));
  return published;
}
