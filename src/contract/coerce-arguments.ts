/**
 * Converts arguments from a model or the command line to the types and spellings of their schema. Leaves values that
 * it cannot convert unchanged, so that the schema refuses them with its own message.
 */
import { z } from "zod";
import { parseDecimal } from "./numbers.ts";
import { findNamedValue, toId } from "./value-names.ts";

/** Parses a number that may have a unit or separators of thousands: `1.2x`, `44.1 kHz`, `1,500 credits`. */
const parseMeasure = (text: string): number | null =>
  parseDecimal(
    text
      .replaceAll(/(?<=\d),(?=\d{3}(?!\d))/g, "")
      .replace(/(?<=\d) ?(?:x|k?hz|s|sec|seconds?|credits?)\s*$/i, ""),
  );

/** Parses a list or an object that was sent as JSON text. Returns any other text unchanged. */
function parseJsonText(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : text;
  } catch {
    return text;
  }
}

function parseArgumentText(given: string, schema: z.core.$ZodType): unknown {
  if (schema instanceof z.ZodString) return given;
  // Some models encode a value twice.
  const text = given.trim().replace(/^"(.*)"$/, "$1");
  if (schema instanceof z.ZodNumber) return parseMeasure(text) ?? text;
  if (schema instanceof z.ZodBoolean) {
    const word = toId(text);
    return word === "true" || (word === "false" ? false : text);
  }
  if (schema instanceof z.ZodLiteral) return findLiteral(parseMeasure(text), schema) ?? text;
  if (schema instanceof z.ZodEnum) {
    const strings = schema.options.filter((option) => typeof option === "string");
    return findNamedValue(text, strings) ?? text;
  }
  return text;
}

/** Finds a number among the values of a literal, also one in thousands (44.1 for 44100). */
const findLiteral = (number: number | null, { values }: z.ZodLiteral): number | undefined =>
  number === null ? undefined : [number, 1000 * number].find((each) => values.has(each));

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isEmpty = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.keys(value).length === 0;

/** Converts one value to the type of its schema. */
export function convertValue(value: unknown, schema: z.core.$ZodType): unknown {
  if (schema instanceof z.ZodOptional) return convertValue(value, schema.unwrap());
  if (schema instanceof z.ZodPipe) return convertValue(value, schema.out);
  if (schema instanceof z.ZodArray) {
    const given = typeof value === "string" ? parseJsonText(value) : value;
    const isElement =
      typeof given === "string" ||
      (isObject(given) && !isEmpty(given) && schema.element instanceof z.ZodObject);
    const list: unknown = isElement ? [given] : given;
    return Array.isArray(list) ? list.map((each) => convertValue(each, schema.element)) : list;
  }
  if (schema instanceof z.ZodObject) return coerceArguments(value, schema);
  if (schema instanceof z.ZodLiteral && typeof value === "number") return findLiteral(value, schema) ?? value;
  if (schema instanceof z.ZodBoolean && (value === 0 || value === 1)) return value === 1;
  if (Array.isArray(value) && value.length === 1) return convertValue(value[0], schema);
  return typeof value === "string" ? parseArgumentText(value, schema) : value;
}

/**
 * Converts arguments to the types of their schema. Omits known arguments that are null, because OpenAI's strict mode
 * sends null for absent arguments. Also omits optional arguments that are an empty string, list or object.
 */
export function coerceArguments(args: unknown, known: z.ZodObject): unknown {
  if (!isObject(args)) return args;
  const entries = Object.entries(args).flatMap(([name, value]): Array<[string, unknown]> => {
    if (!Object.hasOwn(known.shape, name)) return [[name, value]];
    const schema: z.core.$ZodType = known.shape[name];
    if (value === null) return [];
    const converted = value === "" ? "" : convertValue(value, schema);
    const isOmitted = schema instanceof z.ZodOptional && (converted === "" || isEmpty(converted));
    return isOmitted ? [] : [[name, converted]];
  });
  return Object.fromEntries(entries);
}
