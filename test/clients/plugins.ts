/**
 * Assistants that install the plugin. They get only the packed files of the plugin, and the packed server from an npm
 * registry on loopback.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, realpathSync } from "node:fs";
import { delimiter, join } from "node:path";
import { z } from "zod";
import { PLUGIN_PARTS } from "../../scripts/bundle-contents.ts";
import { readJson } from "../../scripts/publication-files.ts";
import { startRegistry } from "../support/loopback-registry.ts";
import type { ClientSetup, ModelClient } from "./client.ts";
import type { ProcessResult } from "./client-environment.ts";
import {
  askCodex,
  CLAUDE_CODE,
  CODEX,
  GEMINI_CLI,
  runInOrder,
  setUpClaude,
  setUpCodex,
  setUpGemini,
  USER_MESSAGE,
} from "./terminals.ts";

const PLUGIN = "audio-generation-mcp";

function findNpx(): string {
  for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
    try {
      return realpathSync(join(folder, "npx"));
    } catch {
      // This folder has no npx.
    }
  }
  throw new Error("npx is not on the PATH");
}

/**
 * Puts the plugin's files, as a release contains them, into the folder `plugin`, and adds `npx` to the client's PATH.
 * Calls `run` while a registry on loopback serves the packed server.
 */
async function withPlugin(
  setup: ClientSetup,
  run: (plugin: string) => Promise<ProcessResult>,
): Promise<ProcessResult> {
  const { environment, root } = setup;
  const [plugin, packages] = [join(environment.home, "plugin"), join(environment.home, "packed")];
  for (const folder of [plugin, packages]) mkdirSync(folder);
  const archive = execFileSync("tar", ["-cf", "-", ...PLUGIN_PARTS], { cwd: root, maxBuffer: 2 ** 26 });
  execFileSync("tar", ["-xf", "-", "-C", plugin], { input: archive });
  environment.addCommand("npx", findNpx());
  // npm starts a fetched program through a shell that it finds on the PATH.
  environment.addCommand("sh", "/bin/sh");
  const registry = await startRegistry(root, packages);
  environment.writeHomeFile(
    ".npmrc",
    `registry=${registry.url}\naudit=false\nfund=false\nupdate-notifier=false\n`,
  );
  try {
    // Fetches the package before the client starts, because some clients give a server only five seconds to start.
    const version = z.object({ version: z.string() }).parse(readJson("package.json")).version;
    const fetched = await environment.run("npx", ["-y", `${PLUGIN}@${version}`, "--version"]);
    return fetched.code === 0 ? await run(plugin) : fetched;
  } finally {
    await registry.stop();
  }
}

/** Returns the result of the run, with code 1 if the run succeeds but its output does not match the pattern. */
async function requireOutput(run: Promise<ProcessResult>, pattern: RegExp): Promise<ProcessResult> {
  const result = await run;
  const output = `${result.stdout}\n${result.stderr}`;
  if (result.code !== 0 || pattern.test(output)) return result;
  return { ...result, code: 1, stderr: `error: ${pattern} is not in: ${output}` };
}

const VARIANT = "its plugin, from the packed files";

const claudePlugin: ModelClient = {
  kind: "model",
  name: "Claude Code",
  variant: VARIANT,
  packages: CLAUDE_CODE,
  converse(setup, modelUrl) {
    const { environment, sandbox } = setup;
    setUpClaude(setup, modelUrl);
    // Make Claude Code wait until npx has started the server. Otherwise `claude -p` asks the model at once.
    environment.setEnv({ MCP_CONNECTION_NONBLOCKING: "false" });
    const claude = (...args: string[]): Promise<ProcessResult> => environment.run("claude", args);
    const settings = ["--config", `base_url=${sandbox.baseUrl}`, "--config", `api_key=${sandbox.apiKey}`];
    return withPlugin(setup, (plugin) =>
      runInOrder(
        () => claude("plugin", "validate", plugin, "--profile", "directory", "--strict"),
        // The command in the README.
        () => claude("plugin", "install", PLUGIN, "--marketplace", plugin, ...settings),
        () => requireOutput(claude("mcp", "list"), /Connected/),
        () => requireOutput(claude("plugin", "details", PLUGIN), /Skills \(1\)\s+narration/),
        () => claude("-p", USER_MESSAGE, "--allowedTools", `mcp__plugin_${PLUGIN}_audio`),
      ),
    );
  },
};

const geminiExtension: ModelClient = {
  kind: "model",
  name: "Gemini CLI",
  variant: VARIANT,
  packages: GEMINI_CLI,
  refusedScenes: ["null"],
  converse(setup, modelUrl) {
    const { environment, sandbox } = setup;
    setUpGemini(setup, modelUrl);
    const answers = [
      [/Service address/, `${sandbox.baseUrl}\r`],
      [/API key/, `${sandbox.apiKey}\r`],
    ] as const;
    return withPlugin(setup, (plugin) =>
      runInOrder(
        () => environment.run("gemini", ["extensions", "install", plugin, "--consent"], answers),
        () => requireOutput(environment.run("gemini", ["mcp", "list"]), /\baudio\b.*Connected/),
        () => requireOutput(environment.run("gemini", ["extensions", "list"]), /Agent skills:\s+narration/),
        () => environment.run("gemini", ["-p", USER_MESSAGE, "-m", "gemini-2.5-pro", "--yolo"]),
      ),
    );
  },
};

const codexPlugin: ModelClient = {
  kind: "model",
  name: "Codex",
  variant: `${VARIANT}, gpt-5-codex`,
  packages: CODEX,
  converse(setup, modelUrl) {
    const { environment, sandbox } = setup;
    setUpCodex(setup);
    // Codex has no form for settings. It passes on those variables of its own environment that the plugin names.
    environment.setEnv({ AUDIO_BASE_URL: sandbox.baseUrl, AUDIO_API_KEY: sandbox.apiKey });
    return withPlugin(setup, (plugin) =>
      runInOrder(
        () => environment.run("codex", ["plugin", "marketplace", "add", plugin]),
        () => environment.run("codex", ["plugin", "add", `${PLUGIN}@${PLUGIN}`]),
        () => requireOutput(environment.run("codex", ["mcp", "list"]), /\baudio\b.*enabled/),
        () =>
          askCodex(setup, modelUrl, [
            "-m",
            "gpt-5-codex",
            "--dangerously-bypass-approvals-and-sandbox",
            ...["-c", "mcp_optional_startup_grace_ms=60000"],
          ]),
      ),
    );
  },
};

export const PLUGINS: readonly ModelClient[] = [claudePlugin, geminiExtension, codexPlugin];
