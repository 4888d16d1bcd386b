/** Owns what `tools/list` publishes: JSON Schema 2020-12 from the tools' own schemas; runs no tool. */
import type { Tool as PublishedTool } from "@modelcontextprotocol/server";
import { z } from "zod";
import { TOOLS } from "../tools/catalog.ts";

/** Without `$schema`: 2020-12 is MCP's default, and the words are paid for in every conversation. */
function jsonSchema(schema: z.ZodObject, io: "input" | "output"): Record<string, unknown> {
  const { $schema: _, ...published } = z.toJSONSchema(schema, { target: "draft-2020-12", io });
  return published;
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
