/** A client sends lines that are not requests: the server goes on, and writes nothing but protocol. */
import { describe, expect, it } from "vitest";
import { VOICE_IDS } from "../../src/contract/voices.ts";
import { countVoices } from "../support/count-voices.ts";
import { errorOf, resultTextOf, taskOf } from "../support/tool-result.ts";
import { closeAfterEach, openFaultSetup, shareFaultSetup } from "./fault-setup.ts";

closeAfterEach();

const GARBAGE = [
  "not json at all",
  "",
  "   ",
  "{}",
  "[]",
  "null",
  "123",
  '"text"',
  "{",
  '{"jsonrpc":"1.0","id":9001,"method":"tools/list"}',
  '{"jsonrpc":"2.0","id":{},"method":"tools/list"}',
  '{"jsonrpc":"2.0","id":9002,"result":{}}',
  '{"jsonrpc":"2.0","id":9003,"error":{"code":1,"message":"x"}}',
  '{"jsonrpc":"2.0","method":"notifications/unheard-of","params":{"a":1}}',
  '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"never-asked"}}',
  '{"jsonrpc":"2.0","method":"notifications/progress","params":{}}',
  "\u0000\u0001\u0002",
  "\ufeff{}",
  "Content-Length: 52\r",
  "[".repeat(100_000),
];

describe("a line that is not a request", () => {
  const shared = shareFaultSetup();
  it.each(GARBAGE.map((line) => [line.slice(0, 60), line]))(
    "(%j) is ignored, and the next call is served",
    async (_start, line) => {
      const { server } = shared();
      server.send(line);
      expect((await server.call("list_voices", { language: "pt" })).structuredContent).toMatchObject({
        count: countVoices("pt"),
      });
      expect(server.strays).toEqual([]);
    },
  );

  it("made of bytes that are not UTF-8 is ignored too", async () => {
    const { server } = shared();
    server.write(Buffer.from([0xff, 0xfe, 0xc3, 0x28, 0x0a]));
    expect((await server.call("list_voices", {})).structuredContent).toMatchObject({
      count: VOICE_IDS.length,
    });
  });

  it("is logged with its fault, up to a maximum length", async () => {
    const { server } = shared();
    const before = server.stderr.length;
    server.send({ jsonrpc: "2.0", id: {}, method: ["x".repeat(100_000)] });
    await expect.poll(() => server.stderr.length, { timeout: 60_000 }).toBeGreaterThan(before);
    expect(server.stderr.length - before).toBeLessThan(500);
  });
});

const WRONG: Array<[string, Record<string, unknown>]> = [
  ["an unknown method", { method: "tools/explode" }],
  ["no name of a tool", { method: "tools/call", params: { arguments: {} } }],
  ["a number as the name", { method: "tools/call", params: { name: 5 } }],
  ["an unknown tool", { method: "tools/call", params: { name: "constructor", arguments: {} } }],
  ["a list as arguments", { method: "tools/call", params: { name: "list_voices", arguments: [] } }],
  ["text as arguments", { method: "tools/call", params: { name: "list_voices", arguments: "x" } }],
  ["an address that nobody knows", { method: "resources/read", params: { uri: "file:///etc/passwd" } }],
  ["an address that is none", { method: "resources/read", params: { uri: "\u0000://%zz" } }],
  ["a way outside", { method: "resources/read", params: { uri: "audio://tasks/..%2F..%2Fx/content" } }],
];

describe("text that is not UTF-8", () => {
  const shared = shareFaultSetup();
  const callWith = (field: string, id: number): Buffer => {
    const line = JSON.stringify({
      jsonrpc: "2.0",
      id,
      method: "tools/call",
      params: { name: "generate_audio", arguments: { prompt: "x", [field]: "https://example.com/Gr~n" } },
    });
    const [before = "", after = ""] = line.split("~");
    // Replace the `~` by the byte that "ü" has in Latin-1, as an editor without UTF-8 would write it.
    return Buffer.concat([Buffer.from(before), Buffer.from([0xfc]), Buffer.from(`${after}\n`)]);
  };

  it.each(["prompt", "image_url"])(
    "in %s is refused with a helpful message, and nothing is charged",
    async (field) => {
      const { server, service } = shared();
      const id = server.nextId();
      server.write(callWith(field, id));
      const outcome = await server.outcomeOf(id);
      expect(errorOf(outcome)).toMatchObject({ code: "invalid_request", http_status: null });
      expect(resultTextOf(outcome)).toMatch(
        new RegExp(`${field} holds U\\+FFFD .*was lost on the way here.*UTF-8`),
      );
      expect(service.exchanges).toEqual([]);
    },
  );
});

describe("a request with", () => {
  const shared = shareFaultSetup();
  it.each(WRONG)("%s is answered with a protocol error, without a stack", async (_what, request) => {
    const { server } = shared();
    const id = server.nextId();
    server.send({ jsonrpc: "2.0", id, ...request });
    const answer = await server.answerTo(id);
    expect(answer.error?.message).toBeTruthy();
    expect(JSON.stringify(answer)).not.toMatch(/\.js:\d+|node:internal/);
  });

  it.each(["__proto__", "constructor", "toString", "hasOwnProperty"])(
    "an argument called %s is an unknown argument",
    async (name) => {
      const { server, service } = shared();
      const id = server.nextId();
      server.send(
        `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"generate_audio","arguments":{"prompt":"x","${name}":{"take":2}}}}`,
      );
      const answer = await server.outcomeOf(id);
      if (name === "__proto__" && answer.isError !== true) expect(taskOf(answer).take).toBe(1);
      else expect(resultTextOf(answer)).toContain(`unknown argument "${name}"`);
      expect(service.tasks.size).toBeLessThanOrEqual(1);
    },
  );
});

describe("many requests", () => {
  it("in one write, split in the middle of a character, are all answered", async () => {
    const { server } = await openFaultSetup();
    const line = (id: number): string =>
      JSON.stringify({
        jsonrpc: "2.0",
        id,
        method: "tools/call",
        params: { name: "list_voices", arguments: { query: "🎧" } },
      });
    const bytes = Buffer.from(`${line(101)}\n${line(102)}\n${line(103)}\n`);
    const middle = bytes.indexOf(Buffer.from("🎧")) + 2;
    server.write(bytes.subarray(0, middle));
    await new Promise(setImmediate);
    server.write(bytes.subarray(middle));
    for (const id of [101, 102, 103]) {
      expect((await server.outcomeOf(id)).structuredContent).toMatchObject({ count: 0 });
    }
  });

  it("at once, different and equal, each get their own answer", async () => {
    const setup = await openFaultSetup({ service: { processingMs: 30 } });
    const prompts = ["one", "two", "one", "three", "two", "one"];
    const ids = prompts.map((prompt) => setup.server.begin("generate_audio", { prompt }));
    const tasks = await Promise.all(ids.map(async (id) => taskOf(await setup.server.outcomeOf(id))));
    expect(tasks.every(({ audio }) => audio !== null)).toBe(true);
    prompts.forEach((prompt, index) => {
      expect(tasks[index]?.task_id).toBe(tasks[prompts.indexOf(prompt)]?.task_id);
    });
    expect(setup.service.tasks.size).toBe(3);
  });

  it("before the client closes its end are answered before the process exits", async () => {
    const setup = await openFaultSetup({ service: { processingMs: 60_000 } });
    const server = await setup.another({}, { isInProcess: false });
    const calls: Array<[string, Record<string, unknown>]> = [
      ["list_voices", {}],
      ["list_tasks", {}],
      ["get_task", { task_id: "task-of-nobody" }],
      ["narrate", { text: "A text to plan." }],
      ["generate_audio", { prompt: "It takes longer than stopping may take" }],
    ];
    const ids = calls.map(([name, args]) => server.begin(name, args));
    // The last line lacks its line feed.
    server.child.stdin.end('{"jsonrpc":"2.0","id":"last","method":"tools/list"}');
    expect(await server.exited).toMatchObject({ code: 0 });
    for (const id of [...ids, "last"]) expect(server.answers.has(id), `the answer to ${id}`).toBe(true);
    const late = await server.outcomeOf(ids.at(-1) ?? 0);
    expect(resultTextOf(late)).toMatch(/closed its end before .*\n.*Repeat the same call/);
  });
});

it.each(["9007199254740993", "-9223372036854775808", "123456789012345678901234567890", "1e20", "-0", "1.0"])(
  "an id that is a number comes back with its digits, in results, errors and progress: %s",
  async (id) => {
    const { server } = await openFaultSetup({ service: { processingMs: 500 } });
    const progressToken = `"_meta":{"progressToken":${id}}`;
    const [call, other] = ['"generate_audio","arguments":{"prompt":"x"}', '"nothing","arguments":{}'];
    server.write(
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":${call},${progressToken}}}\n`,
    );
    const hasProgress = () => server.lines.some((line) => line.includes('"notifications/progress"'));
    const ids = () => server.lines.filter((line) => line.includes(`"id":${id}`)).length;
    await expect.poll(ids).toBe(1);
    await expect.poll(hasProgress).toBe(true);
    expect(server.lines.join("\n")).toContain(`"progressToken":${id}`);
    server.write(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":${other}}}\n`);
    await expect.poll(ids).toBe(2);
    server.write(`{"jsonrpc":"2.0","id":${id},"method":7}\n`);
    await expect.poll(ids).toBe(3);
  },
);

it("an id that is a number cancels the call whose id it is", async () => {
  const setup = await openFaultSetup({ service: { processingMs: 60_000 }, start: { isInProcess: false } });
  const { server } = setup;
  const id = "9007199254740993";
  server.write(
    `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"get_task","arguments":{"task_id":"x","wait_seconds":60}}}\n`,
  );
  setup.misbehave((exchange) => exchange.kind === "query");
  server.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id}}}\n`);
  const beganAtMs = performance.now();
  server.child.stdin.end();
  await server.exited;
  // Nothing is waited for, because nothing is open any more.
  expect(performance.now() - beganAtMs).toBeLessThan(1000);
  expect(server.lines.join("\n")).not.toContain(id);
});

it.each([
  ["tools/call", { name: "list_voices", arguments: { query: "soph\ud83d" } }],
  ["tools/call", { name: "list_tasks", arguments: { query: "\udc00\ud83d" } }],
  ["tools/call", { name: "generate_audio", arguments: { prompt: "x", voice: "\ud83d", "\ud83d": 1 } }],
  ["tools/call", { name: "narrate", arguments: { narration_id: "nar_\ud83d\\" } }],
  ["resources/read", { uri: "audio://\ud83d" }],
  ["\ud83d", {}],
])("half a character that a client sent never leaves in an answer: %s %j", async (method, params) => {
  const { server } = await openFaultSetup();
  await server.request(method, params).catch(() => undefined);
  const line = server.lines.at(-1) ?? "";
  expect(line.isWellFormed()).toBe(true);
  expect(line.replaceAll(/\\\\/g, "")).not.toMatch(/\\ud[89a-f]/);
  JSON.parse(line, (key, value) => {
    expect(key.isWellFormed() && (typeof value !== "string" || value.isWellFormed())).toBe(true);
    return value;
  });
});

describe("a message of many megabytes", () => {
  it("under 10 MiB is read, and refused by its rule", async () => {
    const { server } = await openFaultSetup();
    const outcome = await server.call("generate_audio", { prompt: "x".repeat(9_000_000) });
    expect(errorOf(outcome).code).toBe("invalid_request");
    expect(resultTextOf(outcome)).toMatch(/at most 2048 characters \(this one has 9000000\)/);
    expect(resultTextOf(outcome).length).toBeLessThan(500);
  });

  const TEXT = JSON.stringify('word "id":8} '.repeat(900_000));
  const LONG = `"params":{"name":"narrate","id":7,"arguments":{"text":${TEXT}}}`;
  it.each([
    ["its id is first", `{"jsonrpc":"2.0","id":77,"method":"tools/call",${LONG}}`, 77],
    ["its id is last", `{"method":"tools/call",${LONG},"jsonrpc":"2.0","id":77}`, 77],
    ["a text id", `{"jsonrpc": "2.0", "method": "tools/call", ${LONG}, "id": "seventy 7" }\r`, "seventy 7"],
    ["it is no JSON", "x".repeat(11_000_000), null],
    ["it is a batch", `[{"jsonrpc":"2.0","id":77,"method":"tools/call",${LONG}}]`, null],
  ])("over 10 MiB is refused alone, and a call in flight is answered: %s", async (_what, line, id) => {
    const { server } = await openFaultSetup({ service: { processingMs: 1500 } });
    const inFlight = server.call("generate_audio", { prompt: "In flight" });
    await server.call("list_tasks", {});
    server.send(line);
    const findRefusal = (): string => server.lines.find((each) => each.includes("10 MiB")) ?? "{}";
    await expect.poll(findRefusal, { timeout: 60_000 }).not.toBe("{}");
    const message = expect.stringMatching(/longer than 10 MiB.*`file`/);
    expect(JSON.parse(findRefusal())).toMatchObject({ id, error: { code: -32600, message } });
    expect(taskOf(await inFlight).audio?.size_bytes).toBe(20_000);
  });

  it.each([
    ["a notification", `{"jsonrpc":"2.0","method":"notifications/x",${LONG}}`],
    ["a response", `{"result":{${LONG}},"jsonrpc":"2.0","id":1}`],
  ])("over 10 MiB gets no answer if it is %s", async (_what, line) => {
    const { server } = await openFaultSetup();
    const before = server.lines.length;
    server.send(line);
    await server.call("list_voices", {});
    expect(server.lines.length).toBe(before + 1);
  });
});
