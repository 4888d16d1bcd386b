/** Writes the results of a run as a table between the markers in the README beside this file. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ModelView, Scene } from "./conversation.ts";
import type { Outcome } from "./drive.ts";

const README = join(import.meta.dirname, "README.md");
const BEGIN_MARKER = "<!-- what follows is written by `npm run test:clients` -->";
const END_MARKER = "<!-- end of what is written -->";

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

const BAD_CALL_SCENES: readonly Scene[] = ["voice", "argument", "null", "failure"];

function describeForms(modelView: ModelView | undefined): string {
  if (modelView === undefined) return "nothing";
  if (modelView.hasText && modelView.hasStructured) return "both";
  return modelView.hasText ? "text" : modelView.hasStructured ? "structured" : "nothing";
}

/**
 * Describes the forms of an error. Returns "text, facts" where {@link describeForms} returns "both", because the
 * structured facts of an error do not replace its text.
 */
function describeErrorForms(modelView: ModelView | undefined): string {
  return modelView?.hasText === true && modelView.hasStructured ? "text, facts" : describeForms(modelView);
}

function describeAudio(modelView: ModelView | undefined): string {
  if (modelView?.hasAudioBytes === true) return "base64";
  return modelView?.hasOwnFile === true ? "a file of its own" : "the path alone";
}

function rowOf(outcome: Outcome): string[] {
  const { client, dialect, toolName, modelViews, passesEnvironment } = outcome;
  const modelView = (scene: Scene): ModelView | undefined => modelViews.get(scene);
  const variant = client.variant === undefined ? "" : ` (${client.variant})`;
  return [
    `${client.name}${variant}`,
    client.packages.map((spec) => `\`${spec}\``).join(", "),
    dialect ?? "none",
    toolName === null ? "" : `\`${toolName}\``,
    describeForms(modelView("success")),
    describeErrorForms(modelView("error")),
    describeForms(modelView("waiting")),
    describeForms(modelView("list")),
    modelView("success")?.hasLink === true ? "yes" : "no",
    describeAudio(modelView("audio")),
    passesEnvironment ? "handed on" : "no",
    ...BAD_CALL_SCENES.map((scene) =>
      client.refusedScenes?.includes(scene) === true ? "its own words" : describeErrorForms(modelView(scene)),
    ),
  ];
}

export function renderTable(outcomes: readonly Outcome[]): string {
  const rows = [HEADINGS, HEADINGS.map(() => "---"), ...outcomes.map(rowOf)];
  return rows.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** @throws Error if the markers are missing */
export function writeTable(table: string): void {
  const text = readFileSync(README, "utf8");
  const [from, to] = [text.indexOf(BEGIN_MARKER), text.indexOf(END_MARKER)];
  if (from < 0 || to < from) throw new Error("test/clients/README.md has lost its marks");
  writeFileSync(README, `${text.slice(0, from)}${BEGIN_MARKER}\n\n${table}\n\n${text.slice(to)}`);
}
