/** Schemas and rules of arguments that several tools share. */
import { z } from "zod";
import { boundedIntegerSchema, boundedNumberSchema } from "../contract/numbers.ts";
import { mergeRules, type Pronunciation } from "../pronunciation.ts";
import { toRuleLines } from "./argument-shapes.ts";
import type { ToolDeps } from "./tool.ts";

/** Describes an argument that may be omitted. */
export const optional = <Schema extends z.ZodType>(
  schema: Schema,
  description: string,
): z.ZodOptional<Schema> => schema.meta({ description }).optional();

export const stringSchema = z.string("must be a string");

export const booleanSchema = z.boolean("must be true or false");

/** Reports that an argument breaks a rule that concerns several arguments or a whole text. */
export type ReportIssue = (path: PropertyKey[], message: string) => void;

export const createReportIssue =
  (input: unknown, context: z.RefinementCtx<unknown>): ReportIssue =>
  (path, message) =>
    context.addIssue({ code: "custom", path, message, input });

const MAX_WAIT_SECONDS = 3600;

export const waitSecondsSchema = boundedNumberSchema(0, MAX_WAIT_SECONDS);

export const takeSchema = boundedIntegerSchema(1, 999);

export const taskIdSchema = stringSchema
  .min(1, "must not be empty")
  .max(256, "must be at most 256 characters")
  .meta({ description: "Of an earlier result; req-… until the service accepts it" });

export const fileNameSchema = stringSchema.meta({
  description: "Plain name of at most 120 characters, no folder; the extension is added",
});

const MAX_PRONUNCIATIONS = 100;
const MAX_PRONOUNCED_CODE_UNITS = 200;

const PRONUNCIATION_RULE = /^\s*([^=]*[^=\s])\s*=\s*(\S.*?)\s*$/su;

/** The pronunciation rules of a call, as lines of the form `word=spelling`. */
export const pronounceSchema = z
  .preprocess(
    toRuleLines,
    z
      .array(
        z
          .string("must be word=spelling")
          .max(MAX_PRONOUNCED_CODE_UNITS, `must be at most ${MAX_PRONOUNCED_CODE_UNITS} characters each`)
          .regex(PRONUNCIATION_RULE, "must be word=spelling, as Nguyen=Win"),
        "must be a list of word=spelling",
      )
      .max(MAX_PRONUNCIATIONS, `must be at most ${MAX_PRONUNCIATIONS}`),
  )
  .meta({ description: 'How words are said, as ["Nguyen=Win"]; captions and names keep the text' });

/** Merges the rules of the settings with the rules of this call. The rules of the call take precedence. */
export const parsePronunciations = (
  lines: readonly string[] | undefined,
  { pronunciations }: Pick<ToolDeps, "pronunciations">,
): readonly Pronunciation[] =>
  mergeRules(
    pronunciations,
    (lines ?? []).map((line) => {
      const [, word = "", say = ""] = PRONUNCIATION_RULE.exec(line) ?? [];
      return { word, say, language: null };
    }),
  );

/** The character U+FFFD, which decoders insert in place of bytes that they cannot decode. */
const REPLACEMENT_CHARACTER = "\ufffd";

/**
 * Refuses arguments of a paid request that contain {@link REPLACEMENT_CHARACTER}. The service would speak the
 * character, or fetch an address that contains it, and charge for the task.
 */
export function reportCharacterIssues<Name extends string>(
  names: readonly Name[],
  args: Readonly<Partial<Record<Name, unknown>>>,
  reportIssue: ReportIssue,
): void {
  const message = `holds U+FFFD (${REPLACEMENT_CHARACTER}), which stands for a character that was lost on the way here; send the text again as UTF-8, with the character meant`;
  const check = (value: unknown, path: PropertyKey[]): void => {
    if (typeof value === "object" && value !== null)
      for (const [key, each] of Object.entries(value)) check(each, [...path, key]);
    if (typeof value === "string" && value.includes(REPLACEMENT_CHARACTER)) reportIssue(path, message);
  };
  for (const name of names) check(args[name], [name]);
}
