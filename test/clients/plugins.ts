/**
 * Assistants that install the plugin: only from the packed files, with the packed server from a registry on loopback.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, realpathSync } from "node:fs";
import { delimiter, join } from "node:path";
import { z } from "zod";
import { PLUGIN_PARTS } from "../../scripts/bundle-contents.ts";
import { readJson } from "../../scripts/publication-files.ts";
import { startRegistry } from "../support/loopback-registry.ts";
import type { ClientSetup, ModelClient } from "./client.ts";
import type { Ended } from "./client-environment.ts";
import {
  ASK,
  askCodex,
  CLAUDE_CODE,
  CODEX,
  GEMINI_CLI,
  inTurn,
  openClaude,
  openCodex,
  openGemini,
} from "./terminals.ts";

const PLUGIN = "audio-generation-mcp";

function npxOfThisMachine(): string {
  for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
    try {
      return realpathSync(join(folder, "npx"));
    } catch {
      // Its path differs here.
    }
  }
  throw new Error("npx is not on the PATH");
}

/**
 * Runs a client with `npx` on its environment. `plugin` contains the plugin's files, as a release's archive unpacks.
 */
async function withPlugin(setup: ClientSetup, run: (plugin: string) => Promise<Ended>): Promise<Ended> {
  const { environment, root } = setup;
  const [plugin, packages] = [join(environment.home, "plugin"), join(environment.home, "packed")];
  for (const folder of [plugin, packages]) mkdirSync(folder);
  const archive = execFileSync("tar", ["-cf", "-", ...PLUGIN_PARTS], { cwd: root, maxBuffer: 2 ** 26 });
  execFileSync("tar", ["-xf", "-", "-C", plugin], { input: archive });
  environment.addCommand("npx", npxOfThisMachine());
  // npm starts a fetched program through a shell that it finds on the PATH.
  environment.addCommand("sh", "/bin/sh");
  const registry = await startRegistry(root, packages);
  environment.putHome(".npmrc", `registry=${registry.url}\naudit=false\nfund=false\nupdate-notifier=false\n`);
  try {
    // npx fetches the package here, because some clients give a server five seconds to start.
    const version = z.object({ version: z.string() }).parse(readJson("package.json")).version;
    const fetched = await environment.run("npx", ["-y", `${PLUGIN}@${version}`, "--version"]);
    return fetched.code === 0 ? await run(plugin) : fetched;
  } finally {
    await registry.stop();
  }
}

/** Exits with 1 if the output does not contain the words. */
async function shows(run: Promise<Ended>, words: RegExp): Promise<Ended> {
  const ended = await run;
  const printed = `${ended.stdout}\n${ended.stderr}`;
  if (ended.code !== 0 || words.test(printed)) return ended;
  return { ...ended, code: 1, stderr: `error: ${words} is not in: ${printed}` };
}

const VARIANT = "its plugin, from the packed files";

const claudePlugin: ModelClient = {
  kind: "model",
  name: "Claude Code",
  variant: VARIANT,
  packages: CLAUDE_CODE,
  converse(setup, modelUrl) {
    const { environment, sandbox } = setup;
    openClaude(setup, modelUrl);
    // npx must have started the server before the first question of a script.
    environment.setEnv({ MCP_CONNECTION_NONBLOCKING: "false" });
    const claude = (...args: string[]): Promise<Ended> => environment.run("claude", args);
    const settings = ["--config", `base_url=${sandbox.baseUrl}`, "--config", `api_key=${sandbox.apiKey}`];
    return withPlugin(setup, (plugin) =>
      inTurn(
        () => claude("plugin", "validate", plugin, "--profile", "directory", "--strict"),
        // The line of the README.
        () => claude("plugin", "install", PLUGIN, "--marketplace", plugin, ...settings),
        () => shows(claude("mcp", "list"), /Connected/),
        () => shows(claude("plugin", "details", PLUGIN), /Skills \(1\)\s+narration/),
        () => claude("-p", ASK, "--allowedTools", `mcp__plugin_${PLUGIN}_audio-generation`),
      ),
    );
  },
};

const geminiExtension: ModelClient = {
  kind: "model",
  name: "Gemini CLI",
  variant: VARIANT,
  packages: GEMINI_CLI,
  refusesItself: ["null"],
  converse(setup, modelUrl) {
    const { environment, sandbox } = setup;
    openGemini(setup, modelUrl);
    const answers = [
      [/Service address/, `${sandbox.baseUrl}\r`],
      [/API key/, `${sandbox.apiKey}\r`],
    ] as const;
    return withPlugin(setup, (plugin) =>
      inTurn(
        () => environment.run("gemini", ["extensions", "install", plugin, "--consent"], answers),
        () => shows(environment.run("gemini", ["mcp", "list"]), /audio-generation.*Connected/),
        () => shows(environment.run("gemini", ["extensions", "list"]), /Agent skills:\s+narration/),
        () => environment.run("gemini", ["-p", ASK, "-m", "gemini-2.5-pro", "--yolo"]),
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
    openCodex(setup);
    // Codex has no form. It passes on the variables of its own environment that the plugin names.
    environment.setEnv({ AUDIO_BASE_URL: sandbox.baseUrl, AUDIO_API_KEY: sandbox.apiKey });
    return withPlugin(setup, (plugin) =>
      inTurn(
        () => environment.run("codex", ["plugin", "marketplace", "add", plugin]),
        () => environment.run("codex", ["plugin", "add", `${PLUGIN}@${PLUGIN}`]),
        () => shows(environment.run("codex", ["mcp", "list"]), /audio-generation.*enabled/),
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
