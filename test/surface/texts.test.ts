/** Every text that a model can get, in one readable file, so that its diff shows every change of words. */
import { describe, expect, it } from "vitest";
import { type Config, configurationError, readConfig } from "../../src/config/config.ts";
import { AudioError, type ErrorCode } from "../../src/errors.ts";
import { REFUSED_BY_SERVICE_REMEDY, REMEDIES, WRONG_ADDRESS_REMEDY } from "../../src/remedies.ts";
import { type Activity, describeActivity } from "../../src/requests/activity.ts";
import { explainCredits } from "../../src/requests/explain-credits.ts";
import type { ListedRequest } from "../../src/requests/list-requests.ts";
import { buildNote, type Note } from "../../src/requests/note.ts";
import { renderErrorResult, toAudioError } from "../../src/server/error-result.ts";
import { renderInstructions, SANDBOX_NOTE } from "../../src/server/instructions.ts";
import { buildPromptList, getPrompt } from "../../src/server/prompts.ts";
import { buildToolList } from "../../src/server/tool-list.ts";
import { TOOLS } from "../../src/tools/catalog.ts";
import { renderNarration } from "../../src/tools/narrate.ts";
import { renderTask } from "../../src/tools/task-output.ts";
import { listPublishedArguments, type ToolDeps } from "../../src/tools/tool.ts";
import { sampleRequest } from "../support/sample-request.ts";
import { UNUSED_REQUESTS } from "../support/unused-requests.ts";
import { withoutPlayer } from "../support/without-player.ts";
import { NARRATIONS } from "./narration-views.ts";
import { thrownErrors } from "./thrown.ts";
import { base, PATH, TASK_ID, VIEWS } from "./views.ts";

const CREATED_AT_MS = new Date(2026, 10, 21, 14, 3, 22).getTime();
const NOW_MS = 100_000;

const listed = (changes: Partial<ListedRequest>): ListedRequest => ({
  ...base,
  promptExcerpt: "The harbour at dawn, before the first ferry…",
  fingerprint: "work-0",
  inputHash: null,
  createdAtMs: CREATED_AT_MS,
  heldCredits: 0,
  missingPath: null,
  replacedBy: null,
  wrongFormatPath: null,
  isOtherKey: false,
  ...changes,
});

const fresh = { taskId: null, billing: null, audioSeconds: null, audio: null } as const;
const ROWS: readonly ListedRequest[] = [
  listed({}),
  listed({ take: 2, audio: null, missingPath: PATH }),
  listed({ audio: null, replacedBy: "aud_0123456789abcdef01234567" }),
  listed({ ...fresh, taskId: TASK_ID, status: "processing", heldCredits: 150 }),
  listed({ ...fresh, status: "waiting", voice: "the service's default" }),
  listed({ ...fresh, status: "unresolved", heldCredits: 150 }),
  listed({ ...fresh, taskId: TASK_ID, status: "processing", heldCredits: 150, isOtherKey: true }),
  listed({ ...fresh, status: "unresolved", heldCredits: 150, isOtherKey: true }),
  listed({
    ...fresh,
    taskId: TASK_ID,
    status: "failed",
    billing: { reserved_credits: 150, charged_credits: 0, refunded_credits: 150 },
  }),
  listed({ audio: null, wrongFormatPath: PATH.replace(".mp3", ".bin") }),
  listed({ audio: null, isTooLarge: true }),
  listed({ audio: null, isGone: true }),
];

function createDeps(rows: readonly ListedRequest[], more: Partial<ToolDeps> = {}): ToolDeps {
  const failIfCalled = (): never => {
    throw new Error("not asked for");
  };
  return {
    assertConfigured: () => undefined,
    requests: async () => ({
      ...UNUSED_REQUESTS,
      listRequests: async () => [...rows],
      sumSpending: async () => ({ today: 0, last7Days: 0, last30Days: 0, held: 0, budget: null }),
      findSavedPath: async () => null,
    }),
    openExistingRequests: async () => null,
    narrations: async () => ({
      narrate: failIfCalled,
      cancel: failIfCalled,
      list: async () => [],
      look: failIfCalled,
      lookAtParts: failIfCalled,
      makePartCaptions: failIfCalled,
      findFileByNumber: failIfCalled,
      close: async () => undefined,
    }),
    readInput: failIfCalled,
    takeFirstSuccess: () => false,
    defaultVoice: null,
    pronunciations: [],
    voiceNotes: new Map(),
    defaultWaitSeconds: 45,
    ...more,
  };
}

async function call(name: string, args: unknown, deps: ToolDeps) {
  const tool = TOOLS.find((candidate) => candidate.name === name);
  if (tool === undefined) throw new Error(`no tool ${name}`);
  try {
    return await tool.run(args, deps, {
      signal: new AbortController().signal,
      onProgress: () => undefined,
    });
  } catch (thrown) {
    return toAudioError(thrown, args, listPublishedArguments(tool));
  }
}

const fence = (text: string): string => `\`\`\`text\n${text}\n\`\`\``;
const json = (value: unknown): string => `\`\`\`json\n${JSON.stringify(value)}\n\`\`\``;
const sized = (text: string): string => `${Buffer.byteLength(text)} bytes`;

function errorText(error: AudioError): string {
  const [block] = renderErrorResult(error, (text) => text).content;
  return block?.type === "text" ? fence(block.text) : "";
}

function results(): string[] {
  return Object.entries(VIEWS).flatMap(([name, view]) => {
    const { structured, text } = renderTask(view, { takeFirstSuccess: () => name === "saved, new" });
    return [`### ${name}`, fence(text), json(structured)];
  });
}

function narrations(): string[] {
  return Object.entries(NARRATIONS).flatMap(([name, view]) => {
    const { structured, text } = renderNarration(view);
    return [`### ${name}`, fence(text), json(structured)];
  });
}

function activities(): string[] {
  const here: Activity = { driver: "here", hold: null, sendingMs: null, nowMs: NOW_MS };
  const processing = sampleRequest({ task_id: TASK_ID, accepted_at_ms: NOW_MS - 12_000 });
  const waiting = sampleRequest({ status: "waiting", task_id: null });
  const succeeded = sampleRequest({ status: "succeeded", task_id: TASK_ID });
  const error = { code: "network_error", message: "The connection broke." };
  const noted = (row: typeof processing, note: Omit<Note, "sinceMs">): typeof processing => ({
    ...row,
    note: buildNote(row, note, NOW_MS - 12_000),
  });
  const untilMs = NOW_MS + 31_000;
  const held = (reason: NonNullable<Activity["hold"]>["reason"]): string =>
    describeActivity(waiting, { ...here, hold: { reason, leftMs: 31_000, soFarMs: 12_000 } });
  const sentences = [
    describeActivity(waiting, here),
    describeActivity(waiting, { ...here, driver: "elsewhere" }),
    held("rate"),
    held("concurrency"),
    held("cooldown"),
    describeActivity(noted(waiting, { kind: "unavailable", untilMs }), here),
    describeActivity(noted(waiting, { kind: "credits", untilMs: null }), here),
    describeActivity(noted(processing, { kind: "reads_rate", untilMs }), here),
    describeActivity(noted(processing, { kind: "reads_cooldown", untilMs }), here),
    describeActivity(waiting, { ...here, sendingMs: 0 }),
    describeActivity(noted(waiting, { kind: "retrying", error, untilMs: NOW_MS + 2000 }), here),
    describeActivity(noted(processing, { kind: "query", error, untilMs: NOW_MS + 2000 }), here),
    describeActivity(noted(processing, { kind: "unknown_status", status: "paused", untilMs: null }), here),
    describeActivity(processing, here),
    describeActivity(succeeded, here),
    describeActivity(noted(succeeded, { kind: "download", error, untilMs: NOW_MS + 2000 }), here),
  ];
  return [fence(sentences.join("\n"))];
}

async function errors(): Promise<string[]> {
  const codes = Object.keys(REMEDIES) as ErrorCode[];
  const usual = codes.map((code) => errorText(new AudioError(code, "…")));
  const refused = new AudioError("insufficient_credits", "The service answered …", { httpStatus: 402 });
  const text = "It was a bright cold day in April, and the clocks were striking thirteen. ".repeat(20);
  const special = [
    configurationError(readConfig({})),
    explainCredits(refused, { prompt: text }, 1),
    new AudioError("invalid_request", "The service answered …", { httpStatus: 400 }),
    new AudioError("unexpected_response", "The service answered … with a redirect (HTTP 302), …"),
  ].map(errorText);
  const bad: ReadonlyArray<readonly [string, unknown]> = [
    ["generate_audio", {}],
    ["generate_audio", { prompt: "x", voice: "sofia" }],
    ["generate_audio", { prompt: "x", voice: "bob", speed: 3, sample_rate: 22050 }],
    ["generate_audio", { prompt: "x", tempo: 2 }],
    ["generate_audio", { prompt: "x", image_url: "https://example.com/a.png", voice: "felix_zh" }],
    ["list_voices", { language: "xx" }],
  ];
  const faults = await Promise.all(bad.map(async ([name, args]) => call(name, args, createDeps([]))));
  const reported = faults.map((fault) => {
    if (!(fault instanceof AudioError)) throw new Error("a bad call was accepted");
    return errorText(fault);
  });
  return [
    "### The usual remedy of each code",
    ...usual,
    "### With words of their own",
    ...special,
    ...reported,
    ...thrownErrors().map(errorText),
  ];
}

async function lists(): Promise<string[]> {
  const notes = new Map([["sophie_en_zh", "warm, calm"]] as const);
  const calls: ReadonlyArray<readonly [string, unknown, ToolDeps]> = [
    ["list_tasks", {}, createDeps(ROWS)],
    ["list_tasks", {}, createDeps([])],
    ["list_tasks", { query: "harbour" }, createDeps([])],
    ["list_voices", {}, createDeps([])],
    ["list_voices", { language: "pt" }, createDeps([], { defaultVoice: "felix_zh" })],
    ["list_voices", { query: "sophie" }, createDeps([], { voiceNotes: notes })],
    ["list_voices", { query: "sofia" }, createDeps([])],
    ["list_voices", { query: "narrator" }, createDeps([])],
  ];
  const parts = await Promise.all(
    calls.map(async ([name, args, deps]) => {
      const result = await call(name, args, deps);
      if (result instanceof AudioError) throw result;
      return [`### ${name} ${JSON.stringify(args)}`, fence(result.text), json(result.structured)];
    }),
  );
  return parts.flat();
}

function tools(): string[] {
  return buildToolList().flatMap(({ name, description = "", inputSchema }) => {
    const properties: ReadonlyArray<[string, unknown]> = Object.entries(inputSchema.properties ?? {});
    const lines = properties.map(([field, schema]) => `- \`${field}\`: ${JSON.stringify(schema)}`);
    return [`### ${name}`, description, lines.join("\n")];
  });
}

async function everything(): Promise<string> {
  const config: Config = { ...readConfig({}), outputDir: "/home/someone/audio-generation" };
  const serviceAccess = { baseUrl: "https://audio.example.com", apiKey: "k" };
  const ready = renderInstructions({ ...config, issues: [], serviceAccess });
  const bare = renderInstructions(config);
  const onSandbox = renderInstructions({
    ...config,
    issues: [],
    serviceAccess,
    isSandbox: true,
  });
  const prompts = buildPromptList().flatMap(({ name }) =>
    [{}, { voice: "sophie_en_zh", task_id: TASK_ID, language: "es" }].map((given) => {
      const [message] = getPrompt(name, given).messages;
      return message?.content.type === "text" ? fence(`${name}: ${message.content.text}`) : "";
    }),
  );
  const parts = [
    "# Every text that a model can get",
    "Made by `test/surface/texts.test.ts`; `npx vitest run test/surface -u` writes it anew.",
    `## Instructions (${ready.length} characters; ${bare.length} without settings)`,
    fence(ready),
    fence(bare),
    "Under `--sandbox` they begin so, and the first result ends with the second:",
    fence(onSandbox.slice(0, onSandbox.indexOf("\n"))),
    fence(SANDBOX_NOTE),
    `## Tools (${sized(JSON.stringify(withoutPlayer(buildToolList())))})`,
    ...tools(),
    "## Results of generate_audio, get_task and download_audio",
    ...results(),
    "## Results of narrate",
    ...narrations(),
    "## Progress, and why something waits",
    ...activities(),
    "## Lists",
    ...(await lists()),
    "## Errors",
    ...(await errors()),
    "## Prompts",
    ...prompts,
  ];
  // The offset of local times from UTC depends on the machine.
  return `${parts.join("\n\n").replaceAll(/(T\d\d:\d\d:\d\d)[+-]\d\d:\d\d/g, "$1+01:00")}\n`;
}

describe("every text that a model can get", () => {
  it("equals the committed file", async () => {
    await expect(await everything()).toMatchFileSnapshot("texts.md");
  });

  it("contains no null and no undefined", async () => {
    expect(await everything()).not.toMatch(/\bnull\b|\bundefined\b|\[object/);
  });

  it("ends every error with a step", () => {
    const all = [
      ...Object.values(REMEDIES).map(({ assistant }) => assistant),
      REFUSED_BY_SERVICE_REMEDY,
      WRONG_ADDRESS_REMEDY,
    ];
    for (const remedy of all) expect(remedy).toMatch(/^[A-Z].{20,}\.$/);
  });
});
