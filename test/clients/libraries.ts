/** Libraries for programs that ask a model. For each library, the documented script runs the conversation. */
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import type { ModelClient } from "./client.ts";
import type { Scene } from "./conversation.ts";

/**
 * Returns the client for a library that asks OpenAI or Gemini. The library reads the address of the model from the
 * environment.
 */
function library(
  name: string,
  packages: readonly string[],
  refusedScenes: readonly Scene[] = [],
): ModelClient {
  return {
    kind: "model",
    name,
    packages,
    refusedScenes,
    converse({ environment, modules, block }, modelUrl) {
      symlinkSync(modules, join(environment.work, "node_modules"));
      environment.writeWorkFile("script.mjs", block("js"));
      environment.setEnv({
        OPENAI_API_KEY: "scripted",
        OPENAI_BASE_URL: `${modelUrl}/v1`,
        GEMINI_API_KEY: "scripted",
        GOOGLE_GEMINI_BASE_URL: modelUrl,
        OPENAI_AGENTS_DISABLE_TRACING: "1",
        MASTRA_TELEMETRY_DISABLED: "1",
        LANGSMITH_TRACING: "false",
      });
      return environment.run(process.execPath, ["script.mjs"]);
    },
  };
}

export const LIBRARIES: readonly ModelClient[] = [
  library(
    "LangChain",
    ["@langchain/mcp-adapters@1.1.4", "langchain@1.5.14", "@langchain/openai@1.6.0", "@langchain/core@1.4.0"],
    ["null"],
  ),
  library("AI SDK", ["ai@7.0.173", "@ai-sdk/mcp@2.0.99", "@ai-sdk/openai@4.0.118"]),
  library("OpenAI Agents", ["@openai/agents@0.20.0"]),
  library("Mastra", ["@mastra/mcp@2.0.0", "@mastra/core@1.71.0"]),
  library("LlamaIndex", [
    "@llamaindex/tools@0.2.1",
    "@llamaindex/openai@0.4.23",
    "@llamaindex/workflow@1.1.25",
    "@llamaindex/core@0.6.23",
    "@llamaindex/env@0.1.31",
  ]),
  library("Genkit", ["genkit@1.42.0", "@genkit-ai/mcp@1.42.0", "@genkit-ai/compat-oai@1.42.0"], ["null"]),
  library("Strands", ["@strands-agents/sdk@1.19.0", "@modelcontextprotocol/sdk@1.32.0", "openai@6.45.0"]),
  library("Google ADK", ["@google/adk@2.0.0", "@modelcontextprotocol/sdk@1.32.0"]),
];
