/** Defines a command by one table, which parses its arguments and renders its help (docs/reference.md, Command line). */
import { parseArgs } from "node:util";
import { findNearestName } from "../contract/nearest-names.ts";
import { UsageError } from "./usage-errors.ts";

interface Option {
  readonly type: "string" | "boolean";
  readonly multiple?: boolean;
  /** The name of the value in the help; absent for a flag. */
  readonly value?: string;
  readonly words: string;
}
type OptionTable = Readonly<Record<string, Option>>;

export const flag = (words: string) => ({ type: "boolean", words }) as const;
export const option = (value: string, words: string) => ({ type: "string", value, words }) as const;
export const repeatedOption = (value: string, words: string) =>
  ({ type: "string", multiple: true, value, words }) as const;

const parse = <Options extends OptionTable>(args: readonly string[], options: Options) =>
  parseArgs({ args: [...args], options, allowPositionals: true, strict: true });

interface CommandDefinition<Options extends OptionTable> {
  readonly name: string;
  /** The name of the one operand; absent if the command takes none. */
  readonly operand?: string;
  readonly words: string;
  readonly options: Options;
  /**
   * Runs the command with its options and its operand. Loads its code on demand.
   *
   * @returns the exit code; 0 if it is absent
   */
  run(values: ReturnType<typeof parse<Options>>["values"], operand: string): Promise<number | undefined>;
}

export interface Command
  extends Pick<CommandDefinition<OptionTable>, "name" | "operand" | "words" | "options"> {
  /** @throws UsageError if the arguments do not fit the table */
  run(args: readonly string[]): Promise<number | undefined>;
}

/** Returns the end of an error of usage: where the right usage is explained. */
const seeHelp = (name: string): string => `see "${name} --help"`;

/** Explains why Node could not parse the arguments. Names the nearest option in place of an unknown one. */
function describeParseError(error: unknown, options: OptionTable): string {
  const message = error instanceof Error ? error.message : String(error);
  const [, unknown] = /^Unknown option '--?([^']+)'/.exec(message) ?? [];
  const [, valueless] =
    /^Option '(?:-\w, )?(--[\w-]+)(?: <value>)?' argument (?:is ambiguous|missing)/.exec(message) ?? [];
  if (valueless !== undefined) return `${valueless} needs a value`;
  if (unknown === undefined) return (message.split(/\.\s|\n/)[0] ?? "").replace(/\.$/, "");
  const nearest = findNearestName(unknown, Object.keys(options));
  return `there is no option --${unknown}${nearest === null ? "" : `; --${nearest} is one`}`;
}

export function defineCommand<Options extends OptionTable>(definition: CommandDefinition<Options>): Command {
  const { name, operand, options } = definition;
  const parseOrThrow = (args: readonly string[]) => {
    try {
      return parse(args, options);
    } catch (error) {
      throw new UsageError(`${describeParseError(error, options)}; ${seeHelp(name)}.`);
    }
  };
  return {
    ...definition,
    async run(args) {
      const { values, positionals } = parseOrThrow(args);
      const [first = "", ...more] = positionals;
      if (operand !== undefined && positionals.length === 1 && first === "")
        throw new UsageError(`${operand} must not be empty; ${seeHelp(name)}.`);
      if (operand === undefined ? first !== "" : first === "" || more.length > 0) {
        const taken =
          operand === undefined ? "only options" : `one ${operand}, in quotation marks if it has blanks`;
        throw new UsageError(`${name} takes ${taken}; ${seeHelp(name)}.`);
      }
      try {
        return await definition.run(values, first);
      } catch (error) {
        // The rules of a value do not know which command is run.
        if (error instanceof UsageError) throw new UsageError(`${error.message}; ${seeHelp(name)}.`);
        throw error;
      }
    },
  };
}

const MAX_HELP_COLUMNS = 100;
const MIN_HELP_COLUMNS = 30;

/** Breaks words into lines of at most `columns` characters. A longer word gets a line of its own. */
export function wrapWords(words: string, columns: number): string[] {
  const lines = [""];
  for (const word of words.split(" ")) {
    const line = lines.at(-1) ?? "";
    if (line !== "" && line.length + 1 + word.length > columns) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines;
}

const clampColumns = (columns: number): number =>
  Math.max(MIN_HELP_COLUMNS, Math.min(columns, MAX_HELP_COLUMNS));

const indent = (words: string, columns: number, blanks: number): string =>
  wrapWords(words, clampColumns(columns) - blanks)
    .map((line) => `${" ".repeat(blanks)}${line}`)
    .join("\n");

/** Renders terms with their explanations below them, so that both fit a narrow terminal. */
const renderList = (entries: ReadonlyArray<readonly [string, string]>, columns: number): string =>
  entries.map(([term, words]) => `  ${term}\n${indent(words, columns, 6)}`).join("\n");

const renderUsage = ({ name, operand }: Pick<Command, "name" | "operand">): string =>
  operand === undefined ? name : `${name} ${operand}`;

/** Renders the help of one command. */
export function renderCommandHelp(command: Command, columns: number): string {
  const options = Object.entries(command.options).map(
    ([name, { value, words }]) => [value === undefined ? `--${name}` : `--${name} ${value}`, words] as const,
  );
  return `Usage: audio-generation-mcp ${renderUsage(command)} [options]

${indent(command.words, columns, 0)}

Options:
${renderList(options, columns)}
`;
}

/** Renders the help of the program: all commands, and what the settings are called. */
export function renderHelp(
  commands: readonly Command[],
  settingNames: readonly string[],
  columns: number,
): string {
  const serving = [
    ["(no command)", "Serves MCP on stdio, for a client that starts it."],
    ["--sandbox", "Serves MCP against a service inside this process: no account, no key, real speech."],
  ] as const;
  const list = commands.map(
    (command) => [renderUsage(command), command.words.split(/(?<=\.) /)[0] ?? ""] as const,
  );
  const help = ["NAME --help, --version", "Explains a command; prints the version."] as const;
  return `audio-generation-mcp: an MCP server that turns text into saved audio files.

Usage: audio-generation-mcp [command]

${renderList([...serving, ...list, help], columns)}

Settings, from the environment:
${indent(`${settingNames.join(", ")}.`, columns, 2)}
`;
}
