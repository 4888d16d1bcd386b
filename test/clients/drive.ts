/** Drives one client, in folders of its own, through the conversation. Reports what its model saw, and each problem. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { blockOf, fillIn } from "../support/client-blocks.ts";
import type { Client, ClientSetup, CommandClient, ModelClient } from "./client.ts";
import { ClientEnvironment, type ProcessResult } from "./client-environment.ts";
import {
  type ModelView,
  readModelView,
  type Scene,
  STEPS,
  savedPath,
  unescapedText,
} from "./conversation.ts";
import { ScriptedModel } from "./model/scripted-model.ts";
import { startSandbox } from "./sandbox.ts";

export interface Outcome {
  readonly client: Client;
  /** The API dialect that the client's model speaks; `null` without a model. */
  readonly dialect: string | null;
  /** The name under which the model is offered `generate_audio`; `null` without a model. */
  readonly toolName: string | null;
  readonly modelViews: ReadonlyMap<Scene, ModelView>;
  /** Whether the client passes its own environment on to the server. */
  readonly passesEnvironment: boolean;
  readonly problems: readonly string[];
}

/** The results of driving a client through the conversation. */
interface ClientRun {
  readonly shownResults: readonly unknown[];
  readonly dialect: string | null;
  readonly toolName: string | null;
  readonly problems: readonly string[];
}

/** Returns the first line that contains "error", otherwise the last line. */
function errorLineOf({ stdout, stderr }: ProcessResult): string {
  const lines = `${stdout}\n${stderr}`.trim().split("\n");
  return (lines.find((line) => /error/i.test(line)) ?? lines.at(-1) ?? "").trim().slice(0, 300);
}

function exitProblems(processName: string, result: ProcessResult): string[] {
  if (result.code === 0) return [];
  return [
    `${processName} ${result.isTimedOut ? "took too long" : `ended with ${result.code}`}: ${errorLineOf(result)}`,
  ];
}

async function runWithModel(client: ModelClient, setup: ClientSetup, folder: string): Promise<ClientRun> {
  const model = await ScriptedModel.start({
    onStep: async ({ fault }) => {
      if (fault !== undefined) await setup.sandbox.injectFault(fault);
    },
  });
  try {
    const result = await client.converse(setup, model.url);
    writeFileSync(join(folder, "model.json"), JSON.stringify(model.log, null, 1));
    writeFileSync(join(folder, "client.txt"), `${result.stdout}\n---\n${result.stderr}`);
    const problems = exitProblems("it", result);
    if (model.resultContent.length < STEPS.length - (client.refusedScenes?.length ?? 0)) {
      problems.push(`its model saw ${model.resultContent.length} of ${STEPS.length} results`);
    }
    if (model.isHiddenFromSearch) problems.push(`a search for "text to speech" does not find generate_audio`);
    const toolName =
      [...model.toolNames].find((name) => name.endsWith("generate_audio")) ??
      // Codex does not offer this server's tools directly to newer models. It offers a tool that runs a script. The
      // script has printed the name of the server's tool.
      /\w+__generate_audio/.exec(unescapedText(model.resultContent[0] ?? ""))?.[0] ??
      null;
    return { shownResults: model.resultContent, dialect: model.dialect?.name ?? null, toolName, problems };
  } finally {
    await model.stop();
  }
}

async function runWithCommands(
  client: CommandClient,
  setup: ClientSetup,
  folder: string,
): Promise<ClientRun> {
  const prepared = await client.prepare(setup);
  const problems = exitProblems("the block", prepared);
  if (!prepared.stdout.includes(".mp3")) problems.push("the block did not make audio");
  const shownResults: string[] = [];
  for (const { tool, args, fault } of STEPS) {
    if (fault !== undefined) await setup.sandbox.injectFault(fault);
    const { stdout, stderr } = await client.call(setup, tool, args(shownResults.join("\n")));
    shownResults.push(`${stdout}\n${stderr}`);
  }
  writeFileSync(join(folder, "client.txt"), shownResults.join("\n---\n"));
  return { shownResults, dialect: null, toolName: null, problems };
}

/**
 * @param root the folder that contains `dist/main.js`
 * @param modules the client's `node_modules` folder
 * @param folder an empty folder for the client's home, and for logs that help to analyse a failure
 */
export async function driveClient(
  client: Client,
  { root, modules, folder }: { root: string; modules: string; folder: string },
): Promise<Outcome> {
  const environment = new ClientEnvironment(folder);
  const sandboxHome = join(folder, "sandbox");
  mkdirSync(sandboxHome);
  const sandbox = await startSandbox(join(root, "dist", "main.js"), sandboxHome);
  // Only the client's environment names this folder, its settings do not. So the server saves there only if the client
  // passes its environment on to the server.
  const ownOutputDir = join(environment.home, "elsewhere");
  environment.setEnv({ AUDIO_OUTPUT_DIR: ownOutputDir });
  const block: ClientSetup["block"] = (language, blockIndex) =>
    fillIn(blockOf(client.name, language, blockIndex), root, sandbox);
  const setup: ClientSetup = { environment, sandbox, root, modules, block };
  try {
    const clientRun =
      client.kind === "model"
        ? await runWithModel(client, setup, folder)
        : await runWithCommands(client, setup, folder);
    const problems = [...clientRun.problems];
    const modelViews = new Map<Scene, ModelView>();
    for (const [index, { scene }] of STEPS.entries()) {
      if (clientRun.shownResults[index] === undefined) continue;
      const modelView = readModelView(scene, clientRun.shownResults[index]);
      modelViews.set(scene, modelView);
      const isRefused = client.refusedScenes?.includes(scene) === true;
      if (isRefused && modelView.missingFacts.length === 0)
        problems.push(`it no longer refuses ${scene} itself`);
      if (!isRefused && modelView.missingFacts.length > 0) {
        problems.push(`of ${scene} is not seen: ${modelView.missingFacts.join(", ")}`);
      }
    }
    const passesEnvironment = existsSync(savedPath(ownOutputDir));
    if (!passesEnvironment && !existsSync(savedPath(join(environment.home, "audio-generation")))) {
      problems.push("no audio was saved");
    }
    const remainingServers = await environment.endRemainingProcesses();
    if (remainingServers > 0) problems.push(`${remainingServers} servers outlived it`);
    return {
      client,
      dialect: clientRun.dialect,
      toolName: clientRun.toolName,
      modelViews,
      passesEnvironment,
      problems,
    };
  } finally {
    await environment.endRemainingProcesses();
    await sandbox.stop();
  }
}
