/** Terminal assistants, each configured with its block and the address of the scripted model. */
import { join } from "node:path";
import type { ClientSetup, ModelClient } from "./client.ts";
import type { ProcessResult } from "./client-environment.ts";

export const USER_MESSAGE = "Read this aloud: Good morning, and welcome.";

/** The end of the names of packages that are built for one platform, such as `linux-x64`. */
const PLATFORM = `${process.platform}-${process.arch}`;

/** Runs commands one after the other, and stops at the first one that fails. */
export async function runInOrder(
  ...commands: ReadonlyArray<() => Promise<ProcessResult>>
): Promise<ProcessResult> {
  let result: ProcessResult | undefined;
  for (const runCommand of commands) {
    result = await runCommand();
    if (result.code !== 0) break;
  }
  if (result === undefined) throw new Error("nothing was to be run");
  return result;
}

export const CLAUDE_CODE = ["@anthropic-ai/claude-code@2.1.330"];

export function setUpClaude({ environment, modules }: ClientSetup, modelUrl: string): void {
  environment.addCommand("claude", join(modules, "@anthropic-ai", `claude-code-${PLATFORM}`, "claude"));
  environment.setEnv({
    ANTHROPIC_BASE_URL: modelUrl,
    ANTHROPIC_API_KEY: "scripted",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_AUTOUPDATER: "1",
  });
}

const claudeCode: ModelClient = {
  kind: "model",
  name: "Claude Code",
  packages: CLAUDE_CODE,
  converse(setup, modelUrl) {
    const { environment, block } = setup;
    setUpClaude(setup, modelUrl);
    return runInOrder(
      () => environment.shell(block("sh", 0)),
      () => environment.shell(block("sh", 1)),
    );
  },
};

export const GEMINI_CLI = ["@google/gemini-cli@0.61.0"];

export function setUpGemini({ environment, modules }: ClientSetup, modelUrl: string): void {
  environment.addCommand("gemini", join(modules, ".bin", "gemini"));
  environment.setEnv({
    GEMINI_API_KEY: "scripted",
    GOOGLE_GEMINI_BASE_URL: modelUrl,
    // Without a terminal, Gemini CLI refuses a folder that no person has trusted.
    GEMINI_CLI_TRUST_WORKSPACE: "true",
  });
  environment.writeHomeFile(
    ".gemini/settings.json",
    JSON.stringify({ security: { auth: { selectedType: "gemini-api-key" } } }),
  );
}

const geminiCli: ModelClient = {
  kind: "model",
  name: "Gemini CLI",
  packages: GEMINI_CLI,
  refusedScenes: ["null"],
  converse(setup, modelUrl) {
    const { environment, block } = setup;
    setUpGemini(setup, modelUrl);
    return runInOrder(
      () => environment.shell(block("sh")),
      () => environment.run("gemini", ["-p", USER_MESSAGE, "-m", "gemini-2.5-pro"]),
    );
  },
};

/** Options that set the model's address. They leave the settings file as it is, with only the documented block. */
const codexModel = (modelUrl: string): string[] =>
  [
    `model_provider="scripted"`,
    `model_providers.scripted={name="Scripted", base_url="${modelUrl}/v1", wire_api="responses", env_key="SCRIPTED_KEY"}`,
    "analytics.enabled=false",
  ].flatMap((setting) => ["-c", setting]);

export function setUpCodex({ environment, modules }: ClientSetup): void {
  environment.addCommand("codex", join(modules, ".bin", "codex"));
  environment.setEnv({ SCRIPTED_KEY: "scripted" });
}

export const askCodex = (
  { environment }: ClientSetup,
  modelUrl: string,
  extraArgs: readonly string[] = [],
): Promise<ProcessResult> =>
  environment.run("codex", [
    "exec",
    "--skip-git-repo-check",
    ...extraArgs,
    ...codexModel(modelUrl),
    USER_MESSAGE,
  ]);

export const CODEX = ["@openai/codex@0.169.0"];

const codex: ModelClient = {
  kind: "model",
  name: "Codex",
  variant: "its own model, which calls tools from a script",
  packages: CODEX,
  converse(setup, modelUrl) {
    setUpCodex(setup);
    setup.environment.writeHomeFile(".codex/config.toml", setup.block("toml"));
    return askCodex(setup, modelUrl);
  },
};

/**
 * Codex with the settings that `codex mcp add` writes, and with a permission for each tool. Codex offers this server's
 * tools directly to the model `gpt-5-codex`. Newer models get one tool that runs a script, and the script calls this
 * server's tools.
 */
const codexByCommand: ModelClient = {
  kind: "model",
  name: "Codex",
  variant: "`codex mcp add`, single tools approved, gpt-5-codex",
  packages: CODEX,
  converse(setup, modelUrl) {
    const { environment, block } = setup;
    setUpCodex(setup);
    return runInOrder(
      () => environment.shell(block("sh")),
      async () => {
        environment.appendHomeFile(".codex/config.toml", `\n${block("toml", 1)}`);
        return await askCodex(setup, modelUrl, ["-m", "gpt-5-codex"]);
      },
    );
  },
};

/**
 * Returns the model's settings for opencode and its fork Kilo. They are in a second settings file, so that the first
 * file contains only the documented block.
 */
function opencodeModel(modelUrl: string): string {
  const model = { name: "Scripted", tool_call: true, limit: { context: 100_000, output: 8_000 } };
  const provider = {
    npm: "@ai-sdk/openai-compatible",
    name: "Scripted",
    options: { baseURL: `${modelUrl}/v1`, apiKey: "scripted" },
    models: { scripted: model },
  };
  return JSON.stringify({
    autoupdate: false,
    share: "disabled",
    model: "scripted/scripted",
    provider: { scripted: provider },
  });
}

const opencode: ModelClient = {
  kind: "model",
  name: "opencode",
  packages: ["opencode-ai@1.18.33"],
  converse({ environment, modules, block }, modelUrl) {
    environment.addCommand("opencode", join(modules, `opencode-${PLATFORM}`, "bin", "opencode"));
    environment.writeHomeFile(".config/opencode/opencode.json", block("json"));
    environment.writeHomeFile("model.json", opencodeModel(modelUrl));
    environment.setEnv({
      OPENCODE_CONFIG: join(environment.home, "model.json"),
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
      OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    });
    return environment.shell(block("sh"));
  },
};

const kilo: ModelClient = {
  kind: "model",
  name: "Kilo",
  packages: ["@kilocode/cli@7.7.7"],
  converse({ environment, modules, block }, modelUrl) {
    environment.addCommand("kilo", join(modules, "@kilocode", `cli-${PLATFORM}`, "bin", "kilo"));
    environment.writeHomeFile(".config/kilo/kilo.json", block("json"));
    environment.writeHomeFile("model.json", opencodeModel(modelUrl));
    environment.setEnv({
      KILO_CONFIG: join(environment.home, "model.json"),
      KILO_DISABLE_MODELS_FETCH: "1",
      KILO_DISABLE_DEFAULT_PLUGINS: "1",
      KILO_DISABLE_SESSION_INGEST: "1",
    });
    return environment.shell(block("sh"));
  },
};

const continueCli: ModelClient = {
  kind: "model",
  name: "Continue",
  packages: ["@continuedev/cli@1.5.47"],
  converse({ environment, modules, block }, modelUrl) {
    environment.addCommand("cn", join(modules, ".bin", "cn"));
    const model = `name: Scripted
version: 1.0.0
schema: v1
models:
  - name: scripted
    provider: openai
    model: scripted
    apiBase: ${modelUrl}/v1
    apiKey: scripted
    roles: [chat]
    capabilities: [tool_use]
`;
    environment.writeHomeFile(".continue/config.yaml", `${model}${block("yaml")}`);
    environment.setEnv({ CONTINUE_TELEMETRY_ENABLED: "0", CONTINUE_METRICS_ENABLED: "0" });
    return environment.shell(block("sh"));
  },
};

const qwenCode: ModelClient = {
  kind: "model",
  name: "Qwen Code",
  packages: ["@qwen-code/qwen-code@0.24.4"],
  refusedScenes: ["null"],
  converse({ environment, modules, block }, modelUrl) {
    environment.addCommand("qwen", join(modules, ".bin", "qwen"));
    environment.setEnv({
      OPENAI_API_KEY: "scripted",
      OPENAI_BASE_URL: `${modelUrl}/v1`,
      OPENAI_MODEL: "scripted",
    });
    environment.writeHomeFile(
      ".qwen/settings.json",
      JSON.stringify({
        security: { auth: { selectedType: "openai" } },
        privacy: { usageStatisticsEnabled: false },
        general: { enableAutoUpdate: false },
      }),
    );
    return runInOrder(
      () => environment.shell(block("sh", 0)),
      () => environment.shell(block("sh", 1)),
    );
  },
};

const copilotCli: ModelClient = {
  kind: "model",
  name: "Copilot CLI",
  packages: ["@github/copilot@1.0.102"],
  converse({ environment, modules, block }, modelUrl) {
    environment.addCommand("copilot", join(modules, ".bin", "copilot"));
    environment.setEnv({
      COPILOT_PROVIDER_BASE_URL: `${modelUrl}/v1`,
      COPILOT_PROVIDER_API_KEY: "scripted",
      COPILOT_MODEL: "scripted",
      COPILOT_OFFLINE: "true",
      COPILOT_AUTO_UPDATE: "false",
    });
    return runInOrder(
      () => environment.shell(block("sh", 0)),
      () => environment.shell(block("sh", 1)),
    );
  },
};

const cline: ModelClient = {
  kind: "model",
  name: "Cline",
  packages: ["cline@3.0.65"],
  converse({ environment, modules, block }, modelUrl) {
    environment.addCommand("cline", join(modules, ".bin", "cline"));
    const provider = ["-p", "openai", "-k", "scripted", "-m", "scripted", "-b", `${modelUrl}/v1`];
    environment.writeHomeFile(".cline/data/settings/cline_mcp_settings.json", block("json"));
    return runInOrder(
      () => environment.run("cline", ["auth", ...provider]),
      () => environment.shell(block("sh")),
    );
  },
};

export const TERMINALS: readonly ModelClient[] = [
  claudeCode,
  geminiCli,
  codex,
  codexByCommand,
  opencode,
  continueCli,
  qwenCode,
  copilotCli,
  cline,
  kilo,
];
