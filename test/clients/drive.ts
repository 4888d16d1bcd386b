/** Drives one client through the conversation in its own folders, and reports what its model saw and what is wrong. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { blockOf, fillIn } from "../support/client-blocks.ts";
import type { Client, ClientSetup, CommandClient, ModelClient } from "./client.ts";
import { ClientEnvironment, type Ended } from "./client-environment.ts";
import { type ModelView, readModelView, type Scene, STEPS, savedIn, wordsOf } from "./conversation.ts";
import { ScriptedModel } from "./model/scripted-model.ts";
import { startSandbox } from "./sandbox.ts";

export interface Outcome {
  readonly client: Client;
  /** The API dialect of its model; `null` without a model. */
  readonly dialect: string | null;
  /** The name under which the model is offered `generate_audio`; `null` without a model. */
  readonly toolName: string | null;
  readonly modelViews: ReadonlyMap<Scene, ModelView>;
  /** Whether the server got the client's own environment. */
  readonly handsOnEnvironment: boolean;
  readonly faults: readonly string[];
}

/** The results of one way of driving a client. */
interface ClientRun {
  readonly shown: readonly unknown[];
  readonly dialect: string | null;
  readonly toolName: string | null;
  readonly faults: readonly string[];
}

/** The first line that contains an error, otherwise the last line. */
function lineOf({ stdout, stderr }: Ended): string {
  const lines = `${stdout}\n${stderr}`.trim().split("\n");
  return (lines.find((line) => /error/i.test(line)) ?? lines.at(-1) ?? "").trim().slice(0, 300);
}

function faultOf(what: string, ended: Ended): string[] {
  if (ended.code === 0) return [];
  return [`${what} ${ended.isTimedOut ? "took too long" : `ended with ${ended.code}`}: ${lineOf(ended)}`];
}

async function runWithModel(client: ModelClient, setup: ClientSetup, folder: string): Promise<ClientRun> {
  const model = await ScriptedModel.start({
    onStep: async ({ fault }) => {
      if (fault !== undefined) await setup.sandbox.cause(fault);
    },
  });
  try {
    const ended = await client.converse(setup, model.url);
    writeFileSync(join(folder, "model.json"), JSON.stringify(model.log, null, 1));
    writeFileSync(join(folder, "client.txt"), `${ended.stdout}\n---\n${ended.stderr}`);
    const faults = faultOf("it", ended);
    if (model.shown.length < STEPS.length - (client.refusesItself?.length ?? 0)) {
      faults.push(`its model saw ${model.shown.length} of ${STEPS.length} results`);
    }
    if (model.isHiddenFromSearch) faults.push(`a search for "text to speech" does not find generate_audio`);
    const toolName =
      [...model.toolNames].find((name) => name.endsWith("generate_audio")) ??
      // A script found it, and showed its name.
      /\w+__generate_audio/.exec(wordsOf(model.shown[0] ?? ""))?.[0] ??
      null;
    return { shown: model.shown, dialect: model.dialect?.name ?? null, toolName, faults };
  } finally {
    await model.stop();
  }
}

async function command(client: CommandClient, setup: ClientSetup, folder: string): Promise<ClientRun> {
  const prepared = await client.prepare(setup);
  const faults = faultOf("the block", prepared);
  if (!prepared.stdout.includes(".mp3")) faults.push("the block did not make audio");
  const shown: string[] = [];
  for (const { tool, args, fault } of STEPS) {
    if (fault !== undefined) await setup.sandbox.cause(fault);
    const { stdout, stderr } = await client.call(setup, tool, args(shown.join("\n")));
    shown.push(`${stdout}\n${stderr}`);
  }
  writeFileSync(join(folder, "client.txt"), shown.join("\n---\n"));
  return { shown, dialect: null, toolName: null, faults };
}

/**
 * @param root the folder that contains `dist/main.js`
 * @param modules the client's node_modules folder
 * @param folder empty; what helps to analyse a failure stays in it
 */
export async function driveClient(
  client: Client,
  { root, modules, folder }: { root: string; modules: string; folder: string },
): Promise<Outcome> {
  const environment = new ClientEnvironment(folder);
  const sandboxHome = join(folder, "sandbox");
  mkdirSync(sandboxHome);
  const sandbox = await startSandbox(join(root, "dist", "main.js"), sandboxHome);
  // The block does not name this folder, so a server that saves there got the client's own environment.
  const elsewhere = join(environment.home, "elsewhere");
  environment.setEnv({ AUDIO_OUTPUT_DIR: elsewhere });
  const block: ClientSetup["block"] = (language, which) =>
    fillIn(blockOf(client.name, language, which), root, sandbox);
  const setup: ClientSetup = { environment, sandbox, root, modules, block };
  try {
    const said =
      client.kind === "model"
        ? await runWithModel(client, setup, folder)
        : await command(client, setup, folder);
    const faults = [...said.faults];
    const modelViews = new Map<Scene, ModelView>();
    for (const [index, { scene }] of STEPS.entries()) {
      if (said.shown[index] === undefined) continue;
      const modelView = readModelView(scene, said.shown[index]);
      modelViews.set(scene, modelView);
      const isRefused = client.refusesItself?.includes(scene) === true;
      if (isRefused && modelView.missing.length === 0) faults.push(`it no longer refuses ${scene} itself`);
      if (!isRefused && modelView.missing.length > 0) {
        faults.push(`of ${scene} is not seen: ${modelView.missing.join(", ")}`);
      }
    }
    const handsOnEnvironment = existsSync(savedIn(elsewhere));
    if (!handsOnEnvironment && !existsSync(savedIn(join(environment.home, "audio-generation")))) {
      faults.push("no audio was saved");
    }
    const left = await environment.endRest();
    if (left > 0) faults.push(`${left} servers outlived it`);
    return { client, dialect: said.dialect, toolName: said.toolName, modelViews, handsOnEnvironment, faults };
  } finally {
    await environment.endRest();
    await sandbox.stop();
  }
}
