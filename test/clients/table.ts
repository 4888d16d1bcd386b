/** Writes the results of a run as a table between the markers in the README beside this file. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ModelView, Scene } from "./conversation.ts";
import type { Outcome } from "./drive.ts";

const README = join(import.meta.dirname, "README.md");
const BEGIN = "<!-- what follows is written by `npm run test:clients` -->";
const END = "<!-- end of what is written -->";

const HEADINGS = [
  "client",
  "packages",
  "model's dialect",
  "name of the tool",
  "success",
  "error",
  "`waiting`",
  "`list_tasks`",
  "link to the file",
  "audio that was asked for",
  "own environment",
  "wrong voice",
  "unknown argument",
  "`null`",
  "failed task",
];

const BAD_CALLS: readonly Scene[] = ["voice", "argument", "null", "failure"];

function formsIn(modelView: ModelView | undefined): string {
  if (modelView === undefined) return "nothing";
  if (modelView.text && modelView.structured) return "both";
  return modelView.text ? "text" : modelView.structured ? "structured" : "nothing";
}

/** The structured facts of an error are not a form of their own. */
function errorIn(modelView: ModelView | undefined): string {
  return modelView?.text === true && modelView.structured ? "text, facts" : formsIn(modelView);
}

function audioIn(modelView: ModelView | undefined): string {
  if (modelView?.bytes === true) return "base64";
  return modelView?.ownFile === true ? "a file of its own" : "the path alone";
}

function rowOf(outcome: Outcome): string[] {
  const { client, dialect, toolName, modelViews, handsOnEnvironment } = outcome;
  const modelView = (scene: Scene): ModelView | undefined => modelViews.get(scene);
  const variant = client.variant === undefined ? "" : ` (${client.variant})`;
  return [
    `${client.name}${variant}`,
    client.packages.map((spec) => `\`${spec}\``).join(", "),
    dialect ?? "none",
    toolName === null ? "" : `\`${toolName}\``,
    formsIn(modelView("success")),
    errorIn(modelView("error")),
    formsIn(modelView("waiting")),
    formsIn(modelView("list")),
    modelView("success")?.link === true ? "yes" : "no",
    audioIn(modelView("audio")),
    handsOnEnvironment ? "handed on" : "no",
    ...BAD_CALLS.map((scene) =>
      client.refusesItself?.includes(scene) === true ? "its own words" : errorIn(modelView(scene)),
    ),
  ];
}

export function tableOf(outcomes: readonly Outcome[]): string {
  const rows = [HEADINGS, HEADINGS.map(() => "---"), ...outcomes.map(rowOf)];
  return rows.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** @throws Error if the markers are missing */
export function putTable(table: string): void {
  const text = readFileSync(README, "utf8");
  const [from, to] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (from < 0 || to < from) throw new Error("test/clients/README.md has lost its marks");
  writeFileSync(README, `${text.slice(0, from)}${BEGIN}\n\n${table}\n\n${text.slice(to)}`);
}
