/** Builds the answer to `tools/list`: JSON Schema 2020-12 from the schemas of the tools. */
import type { Tool as PublishedTool } from "@modelcontextprotocol/server";
import { z } from "zod";
import { TOOLS } from "../tools/catalog.ts";
import type { Tool } from "../tools/tool.ts";

type JsonSchema = z.core.JSONSchema.BaseSchema;

/**
 * Schema rules that are not published. A client that checks such rules itself hides this server's error message from
 * the model, or even crashes. The descriptions state the rules in words, and the server's parser enforces them.
 */
const UNPUBLISHED_RULES = [
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

/** Removes {@link UNPUBLISHED_RULES} from the schema, and publishes integers as numbers. */
function removeRules(schema: JsonSchema): void {
  const value: unknown = schema.enum?.[0];
  if (schema.type === "integer" || typeof value === "number") schema.type = "number";
  for (const rule of UNPUBLISHED_RULES) delete schema[rule];
}

/** Converts a schema. Omits `$schema`, because 2020-12 is the default of MCP. */
function buildJsonSchema(
  schema: z.ZodObject,
  io: "input" | "output",
  {
    unpublishedArguments = [],
    boundsPublishedIn,
  }: Pick<Tool, "unpublishedArguments" | "boundsPublishedIn"> = {},
): Record<string, unknown> {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    target: "draft-2020-12",
    io,
    override: ({ jsonSchema: part }) => removeRules(part),
  });
  for (const name of unpublishedArguments) delete json.properties?.[name];
  for (const [index, name] of (boundsPublishedIn?.names ?? []).entries()) {
    const { type } = z.object({ type: z.string() }).parse(json.properties?.[name]);
    const description = `${boundsPublishedIn?.names.at(0)} to ${boundsPublishedIn?.names.at(-1)}: as in ${boundsPublishedIn?.tool}`;
    const shownSchema = { type, ...(index === 0 && { description }) };
    Object.assign(json.properties ?? {}, { [name]: shownSchema });
  }
  return json;
}

/** Returns the published tools. The build runs this function, and bundles its result. */
export const buildToolList = (): PublishedTool[] =>
  TOOLS.map((tool) => ({
    name: tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: { type: "object", ...buildJsonSchema(tool.input, "input", tool) },
    outputSchema: { type: "object", ...buildJsonSchema(tool.output, "output") },
    annotations: { title: tool.title, ...tool.annotations },
    ...(tool.meta === undefined ? {} : { _meta: { ...tool.meta } }),
  }));
