/** What the build changes in the protocol's package changes no answer: the bin and the source are asked the same. */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "..", "..");

type Message = { readonly id: number; readonly [key: string]: unknown };

/** Params of every method, as a client of the era sends them. */
const REQUESTS: ReadonlyArray<readonly [string, Record<string, unknown>]> = [
  ["ping", {}],
  ["tools/list", {}],
  ["tools/list", { cursor: "x" }],
  ["tools/call", { name: "list_voices", arguments: { language: "pt" } }],
  ["tools/call", { name: "get_task", arguments: { task_id: "task_1" } }],
  ["prompts/list", {}],
  ["prompts/get", { name: "narrate", arguments: { text: "Hello", title: "A" } }],
  ["resources/templates/list", {}],
  ["resources/read", { uri: "audio://tasks/task_1/content" }],
  [
    "completion/complete",
    { ref: { type: "ref/prompt", name: "retake" }, argument: { name: "voice", value: "m" } },
  ],
  ["logging/setLevel", { level: "info" }],
  ["resources/subscribe", { uri: "audio://tasks/task_1/content" }],
  ["tasks/get", { taskId: "gen1-x" }],
  ["tasks/cancel", { taskId: "gen1-x" }],
  ["server/discover", {}],
  ["roots/list", {}],
  ["sampling/createMessage", { messages: [], maxTokens: 1 }],
  ["nothing/known", { a: 1 }],
];

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "alike", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

const ODD_VALUES: readonly unknown[] = [null, 7, "", "x", true, [], [1], {}, { a: { b: null } }, -1.5];

/** Small, and the same on every machine: a test must not depend on chance. */
function chooser(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state % below;
  };
}

/** The same value with one field left out, renamed or of another type, anywhere in it. */
function bent(value: unknown, choose: (below: number) => number): unknown {
  if (typeof value !== "object" || value === null || choose(4) === 0)
    return ODD_VALUES[choose(ODD_VALUES.length)];
  const entries = Object.entries(value);
  const at = choose(Math.max(entries.length, 1));
  const way = choose(4);
  const changed = entries.flatMap(([key, each], index): [string, unknown][] => {
    if (index !== at) return [[key, each]];
    if (way === 0) return [];
    if (way === 1) return [[`${key}X`, each]];
    return [[key, bent(each, choose)]];
  });
  return Array.isArray(value) ? changed.map(([, each]) => each) : Object.fromEntries(changed);
}

/** Each request as it should be, and as many bent ones. */
function messages(common: Record<string, unknown>, bentOfEach: number): Message[] {
  const choose = chooser(20_261_122);
  const params = REQUESTS.flatMap(([method, given]) => {
    const whole = { method, params: { ...given, ...common } };
    return [whole, ...Array.from({ length: bentOfEach }, () => bent(whole, choose))];
  });
  return params.map((each, index) => ({ jsonrpc: "2.0", ...Object(each), id: 100 + index }));
}

/** What a server answers, by the id of the request. */
async function answers(
  program: string,
  home: string,
  sent: readonly unknown[],
  awaited: ReadonlySet<number>,
): Promise<ReadonlyMap<unknown, unknown>> {
  const child = spawn(process.execPath, [program], {
    env: { PATH: process.env["PATH"] ?? "", HOME: home, AUDIO_LOG_LEVEL: "error" },
    stdio: ["pipe", "pipe", "ignore"],
  });
  try {
    const byId = new Map<unknown, unknown>();
    let pending = "";
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${byId.size} of ${awaited.size} answered`)), 20_000);
      const finish = (): void => {
        clearTimeout(timer);
        resolve();
      };
      child.once("error", reject);
      child.once("close", finish);
      child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
        const lines = (pending + chunk).split("\n");
        pending = lines.pop() ?? "";
        for (const line of lines) {
          const { id, ...answer } = JSON.parse(line);
          byId.set(id, answer);
        }
        if ([...awaited].every((id) => byId.has(id))) finish();
      });
      child.stdin.write(sent.map((message) => `${JSON.stringify(message)}\n`).join(""));
    });
    return byId;
  } finally {
    child.kill();
  }
}

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: { elicitation: {} },
    clientInfo: { name: "alike", version: "1" },
  },
};

const ERAS: ReadonlyArray<readonly [string, readonly unknown[], readonly Message[]]> = [
  ["2025-11-25", [INITIALIZE, { jsonrpc: "2.0", method: "notifications/initialized" }], messages({}, 20)],
  ["2026-07-28", [], messages({ _meta: META }, 20)],
];

describe.each(ERAS)("a client of %s", (_era, opening, requests) => {
  it("is answered by the bin as by the source, whatever it asks", async () => {
    const sent = [...opening, ...requests];
    const awaited = new Set(requests.map(({ id }) => id));
    const home = await mkdtemp(join(tmpdir(), "alike-"));
    try {
      const [built, source] = await Promise.all(
        ["dist/main.js", "src/main.ts"].map((program) => answers(join(root, program), home, sent, awaited)),
      );
      expect(built?.size).toBeGreaterThan(300);
      expect(built).toEqual(source);
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });
});
