/**
 * Reads what a model sends: a value in another spelling becomes the one that its schema takes. Everything else stays as
 * it is, for the schema to refuse in its own words. It is the one place for this; the command line uses it, too.
 */
import { z } from "zod";
import { decimalIn } from "./decimal.ts";
import { LANGUAGE_NAMES, VOICES } from "./voices.ts";

const wordOf = (text: string): string =>
  text
    .trim()
    .toLowerCase()
    .replaceAll(/[\s-]+/g, "_");

/** The names of voices and languages, and what they stand for. */
const VALUES_BY_NAME: ReadonlyMap<string, string> = new Map([
  ...VOICES.map(({ id, name }) => [wordOf(name), id] as const),
  ...Object.entries(LANGUAGE_NAMES).map(([code, name]) => [wordOf(name), code] as const),
]);

/** A list or an object that was sent as its JSON text. */
function listIn(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : text;
  } catch {
    return text;
  }
}

function readText(text: string, schema: z.core.$ZodType): unknown {
  if (schema instanceof z.ZodNumber) return decimalIn(text) ?? text;
  if (schema instanceof z.ZodBoolean) {
    const word = wordOf(text);
    return word === "true" || (word === "false" ? false : text);
  }
  if (schema instanceof z.ZodLiteral) {
    const number = decimalIn(text);
    return number !== null && schema.values.has(number) ? number : text;
  }
  if (schema instanceof z.ZodEnum) {
    const word = wordOf(text);
    const named = VALUES_BY_NAME.get(word);
    return schema.options.find((option) => option === word || option === named) ?? text;
  }
  return text;
}

/** One value as its schema takes it. */
export function readValue(value: unknown, schema: z.core.$ZodType): unknown {
  if (schema instanceof z.ZodOptional) return readValue(value, schema.unwrap());
  if (schema instanceof z.ZodPipe) return readValue(value, schema.out);
  if (schema instanceof z.ZodArray) {
    const list = typeof value === "string" ? listIn(value) : value;
    return Array.isArray(list) ? list.map((each) => readValue(each, schema.element)) : list;
  }
  if (schema instanceof z.ZodObject) return readArguments(value, schema);
  return typeof value === "string" ? readText(value, schema) : value;
}

/**
 * Arguments as their schema takes them. `null` for a known argument means that it is left out, because OpenAI's strict
 * mode sends it so; so does an empty string where the argument is optional.
 */
export function readArguments(args: unknown, known: z.ZodObject): unknown {
  if (typeof args !== "object" || args === null || Array.isArray(args)) return args;
  const entries = Object.entries(args).flatMap(([name, value]): Array<[string, unknown]> => {
    if (!Object.hasOwn(known.shape, name)) return [[name, value]];
    const schema: z.core.$ZodType = known.shape[name];
    const isLeftOut = value === null || (value === "" && schema instanceof z.ZodOptional);
    return isLeftOut ? [] : [[name, readValue(value, schema)]];
  });
  return Object.fromEntries(entries);
}
