/**
 * Converts arguments from a model or the command line to the types and spellings of their schema. Leaves values that
 * it cannot convert unchanged, so that the schema refuses them with its own message.
 */
import { z } from "zod";
import { parseDecimal } from "./decimal.ts";
import { LANGUAGE_NAMES, VOICES } from "./voices.ts";

const toId = (text: string): string =>
  text
    .trim()
    .toLowerCase()
    .replaceAll(/[\s-]+/g, "_");

/** Maps the names of voices and languages to their ids. */
const VALUES_BY_NAME: ReadonlyMap<string, string> = new Map([
  ...VOICES.map(({ id, name }) => [toId(name), id] as const),
  ...Object.entries(LANGUAGE_NAMES).map(([code, name]) => [toId(name), code] as const),
]);

/** Parses a list or an object that was sent as JSON text. Returns any other text unchanged. */
function parseJsonText(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : text;
  } catch {
    return text;
  }
}

function parseArgumentText(text: string, schema: z.core.$ZodType): unknown {
  if (schema instanceof z.ZodNumber) return parseDecimal(text) ?? text;
  if (schema instanceof z.ZodBoolean) {
    const word = toId(text);
    return word === "true" || (word === "false" ? false : text);
  }
  if (schema instanceof z.ZodLiteral) {
    const number = parseDecimal(text);
    return number !== null && schema.values.has(number) ? number : text;
  }
  if (schema instanceof z.ZodEnum) {
    const word = toId(text);
    const namedId = VALUES_BY_NAME.get(word);
    return schema.options.find((option) => option === word || option === namedId) ?? text;
  }
  return text;
}

/** Converts one value to the type of its schema. */
export function convertValue(value: unknown, schema: z.core.$ZodType): unknown {
  if (schema instanceof z.ZodOptional) return convertValue(value, schema.unwrap());
  if (schema instanceof z.ZodPipe) return convertValue(value, schema.out);
  if (schema instanceof z.ZodArray) {
    const list = typeof value === "string" ? parseJsonText(value) : value;
    return Array.isArray(list) ? list.map((each) => convertValue(each, schema.element)) : list;
  }
  if (schema instanceof z.ZodObject) return coerceArguments(value, schema);
  return typeof value === "string" ? parseArgumentText(value, schema) : value;
}

/**
 * Converts arguments to the types of their schema. Omits known arguments that are null, because OpenAI's strict mode
 * sends null for absent arguments. Also omits optional arguments that are an empty string.
 */
export function coerceArguments(args: unknown, known: z.ZodObject): unknown {
  if (typeof args !== "object" || args === null || Array.isArray(args)) return args;
  const entries = Object.entries(args).flatMap(([name, value]): Array<[string, unknown]> => {
    if (!Object.hasOwn(known.shape, name)) return [[name, value]];
    const schema: z.core.$ZodType = known.shape[name];
    const isOmitted = value === null || (value === "" && schema instanceof z.ZodOptional);
    return isOmitted ? [] : [[name, convertValue(value, schema)]];
  });
  return Object.fromEntries(entries);
}
