/** The API key is nowhere but in the header to the configured service. */
import { writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { newFolder, removeFolders } from "../files/folders.ts";
import { COMPILED } from "../support/bin-under-test.ts";
import { API_KEY } from "../support/fake-service.ts";
import { runCommand } from "../support/run-command.ts";
import { errorOf, generate, resultTextOf, taskOf } from "../support/tool-result.ts";
import { closeAfterEach, openFaultSetup, shareFaultSetup } from "./fault-setup.ts";
import { filesBelow } from "./find-leaks.ts";
import {
  acceptSubmission,
  answerText,
  type Misbehaviour,
  rawAnswer,
  refusing,
  sayAndHangUp,
} from "./wire.ts";

// Every setup is searched for the key when it closes: all output at level debug, all file names, all bytes on disk.
closeAfterEach();
afterEach(removeFolders);

const SPELLINGS: Array<[string, string]> = [
  ["plain", API_KEY],
  ["as the header has it", `Authorization: Bearer ${API_KEY}`],
  ["in base64", Buffer.from(API_KEY).toString("base64")],
  ["percent-encoded", encodeURIComponent(API_KEY)],
  ["with something invisible inside", `${API_KEY.slice(0, 7)}\u200b${API_KEY.slice(7)}`],
  ["across the 500th character", `${"x".repeat(490)} ${API_KEY}`],
];

describe("the key in the service's texts", () => {
  const shared = shareFaultSetup();

  it.each(SPELLINGS)("(%s) is redacted from a refusal", async (title, words) => {
    const setup = shared();
    setup.misbehaveNext("create", refusing(402, "insufficient_credits", words));
    const outcome = await setup.server.call("generate_audio", { prompt: `Refused ${title}` });
    expect(errorOf(outcome).code).toBe("insufficient_credits");
    expect(resultTextOf(outcome)).not.toContain(API_KEY);
    expect(resultTextOf(outcome).replace(/\P{ASCII}/gu, "")).not.toContain(API_KEY);
  });

  it.each(SPELLINGS)("(%s) is redacted from a failed task, in every tool's answer", async (title, words) => {
    const setup = shared();
    setup.misbehaveAlways("query", (response, exchange, service) => {
      const task = service.tasks.get(exchange.taskId ?? "");
      if (task === undefined) throw new Error("no such task");
      task.status = "failed";
      service.json(response, 200, { ...service.view(task), error: { code: words, message: words } });
    });
    const outcome = await setup.server.call("generate_audio", { prompt: `Failed ${title}` });
    const { task_id } = errorOf(outcome);
    const shown = await setup.server.call("get_task", { task_id });
    const listed = await setup.server.call("list_tasks", {});
    expect(taskOf(shown).status).toBe("failed");
    for (const answer of [outcome, shown, listed]) expect(JSON.stringify(answer)).not.toContain(API_KEY);
  });
});

/** Parts of an answer, other than messages, in which a service could return the key that it received. */
const PLACES: Array<[string, Misbehaviour]> = [
  [
    "its headers",
    (r) => answerText(r, 503, "{}", { "retry-after": API_KEY, "set-cookie": API_KEY, server: API_KEY }),
  ],
  ["a redirect", (r) => r.writeHead(302, { location: `https://example.com/?key=${API_KEY}` }).end()],
  ["a page", (r) => answerText(r, 502, `<html>${API_KEY}</html>`, { "content-type": "text/html" })],
  ["something that is not HTTP", (r) => sayAndHangUp(r, `${API_KEY} ${API_KEY}\r\n\r\n`)],
  ["a broken header", (r) => sayAndHangUp(r, rawAnswer("202 A", "{}", [`Bearer ${API_KEY} : x\u0001`]))],
  ["a status line", (r) => sayAndHangUp(r, `HTTP/1.1 999 ${API_KEY}\r\n\r\n`)],
  [
    "unknown fields",
    (r, e, s) => s.json(r, 202, { ...s.view(acceptSubmission(s, e), true), [API_KEY]: API_KEY }),
  ],
  [
    "the wrong fields",
    (r, e, s) => s.json(r, 202, { ...s.view(acceptSubmission(s, e), true), model: API_KEY, usage: API_KEY }),
  ],
];

describe("the key that a service sends back", () => {
  const shared = shareFaultSetup();
  it.each(PLACES)("in %s is neither reported nor stored", async (title, misbehaviour) => {
    const setup = shared();
    setup.misbehaveNext("create", misbehaviour);
    const call = { prompt: `Sent back in ${title}` };
    const outcome = await setup.server.call("generate_audio", call);
    expect(JSON.stringify(outcome)).not.toContain(API_KEY);
    expect((await generate(setup.server, call)).status).toBe("succeeded");
  });

  it("as the id of a task is not accepted, because it would get into URLs and into the ledger", async () => {
    const setup = await openFaultSetup();
    setup.misbehaveAlways("create", (response, exchange, service) => {
      service.json(response, 202, {
        ...service.view(acceptSubmission(service, exchange), true),
        id: `t-${API_KEY}`,
      });
    });
    const reported = async () =>
      errorOf(await setup.server.call("generate_audio", { prompt: "An id", wait_seconds: 0.5 }));
    let error = await reported();
    // On a busy machine, a call may end with a timeout before the first answer arrives. Repeat the call then.
    for (let calls = 1; error.code === "timeout" && calls < 20; calls += 1) error = await reported();
    expect(error).toMatchObject({ code: "unexpected_response", task_id: null });
    expect(setup.service.exchanges.filter(({ url }) => url.includes(API_KEY))).toEqual([]);
  });
});

describe("the key in a call", () => {
  const shared = shareFaultSetup();
  it.each<[string, string, Record<string, unknown>]>([
    ["a prompt", "generate_audio", { prompt: `My key is ${API_KEY}, read it out` }],
    ["a sample", "generate_audio", { prompt: "x", audio_references: [`https://example.com/?k=${API_KEY}`] }],
    ["a file name", "generate_audio", { prompt: "x", file_name: API_KEY }],
    ["a task id", "get_task", { task_id: API_KEY }],
    ["a task id to download", "download_audio", { task_id: API_KEY }],
    ["a name of an argument", "generate_audio", { prompt: "x", [API_KEY]: 1 }],
  ])(
    "(%s) is refused before anything is sent or stored, and not repeated in the answer",
    async (_what, tool, args) => {
      const setup = shared();
      const outcome = await setup.server.call(tool, args);
      expect(errorOf(outcome)).toMatchObject({ code: "invalid_request", http_status: null });
      expect(resultTextOf(outcome)).toMatch(/API key[\s\S]*AUDIO_API_KEY/);
      expect(setup.service.exchanges).toEqual([]);
    },
  );
});

/** Texts that contain the key once their markup, entities and invisible characters are removed. */
const HIDDEN: Array<[string, string]> = [
  ["by markup", `My key is ${API_KEY.slice(0, 3)}**${API_KEY.slice(3)}**, read it out`],
  ["by an entity", `My key is &#${API_KEY.charCodeAt(0)};${API_KEY.slice(1)}, read it out`],
  ["by a soft hyphen", `My key is ${API_KEY.slice(0, 7)}\u00ad${API_KEY.slice(7)}, read it out`],
  ["in a heading", `# ${API_KEY.slice(0, 3)}&#${API_KEY.charCodeAt(3)};${API_KEY.slice(4)}\n\nA text.`],
  ["in code that is left out", `A text.\n\n\`\`\`\n${API_KEY.slice(0, 9)}\u200b${API_KEY.slice(9)}\n\`\`\``],
];

describe("the key hidden in a text", () => {
  const shared = shareFaultSetup();
  it.each(HIDDEN)("%s is refused before anything is sent or stored", async (_what, text) => {
    const setup = shared();
    const outcome = await setup.server.call("narrate", { text, max_credits: 1000 });
    expect(errorOf(outcome)).toMatchObject({ code: "invalid_request", http_status: null });
    expect(resultTextOf(outcome)).toMatch(/API key[\s\S]*AUDIO_API_KEY/);
    expect(setup.service.exchanges).toEqual([]);
    expect(resultTextOf(await setup.server.call("list_tasks", {}))).not.toContain("nar_");
  });

  it("by a soft hyphen is refused in a prompt, too", async () => {
    const setup = shared();
    const prompt = `My key is ${API_KEY.slice(0, 7)}\u00ad${API_KEY.slice(7)}`;
    expect(errorOf(await setup.server.call("generate_audio", { prompt })).code).toBe("invalid_request");
    expect(setup.service.exchanges).toEqual([]);
  });

  it("in a file is refused for the tool and for the command", async () => {
    const folder = newFolder();
    writeFileSync(join(folder, "book.md"), `# A book\n\nMy key is ${API_KEY}.`);
    const setup = await openFaultSetup({ env: { AUDIO_INPUT_DIR: folder } });
    const outcome = await setup.server.call("narrate", { file: "book.md", max_credits: 1000 });
    expect(errorOf(outcome).code).toBe("invalid_request");
    const env = setup.testFolders.env(setup.service, COMPILED);
    const run = await runCommand(["narrate", join(folder, "book.md"), "--max-credits", "1000"], env);
    expect(run.code).not.toBe(0);
    expect(run.stderr).toMatch(/API key[\s\S]*AUDIO_API_KEY/);
    expect(`${run.stdout}${run.stderr}`).not.toContain(API_KEY);
    expect(setup.service.exchanges).toEqual([]);
  });
});

describe("the key in the settings", () => {
  it.each([
    ["in a variable of something else", { AUDIO_DEFAULT_VOICE: API_KEY }],
    ["while the address is not an address", { AUDIO_BASE_URL: "nonsense", AUDIO_WAIT_SECONDS: API_KEY }],
    ["inside the address", { AUDIO_BASE_URL: `https://user:${API_KEY}@example.com`, AUDIO_TIME_SCALE: "1" }],
    ["with white space inside", { AUDIO_API_KEY: `${API_KEY} ${API_KEY}` }],
  ])("(%s) is not in the error about it", async (_what, env) => {
    const setup = await openFaultSetup({ env });
    const outcome = await setup.server.call("generate_audio", { prompt: "x" });
    expect(errorOf(outcome).code).toBe("configuration_error");
    expect(resultTextOf(outcome)).not.toContain(API_KEY);
  });

  it("is sent in the header of every request, and nowhere else", async () => {
    const setup = await openFaultSetup();
    await generate(setup.server, { prompt: "A whole task" });
    expect(setup.service.exchanges.length).toBeGreaterThanOrEqual(3);
    for (const { headers, url, body } of setup.service.exchanges) {
      const { authorization, ...others } = headers;
      expect(authorization).toBe(`Bearer ${API_KEY}`);
      expect(JSON.stringify([others, url, body])).not.toContain(API_KEY);
    }
  });

  it("is in no file, and only the owner can read the files", async () => {
    const setup = await openFaultSetup();
    await generate(setup.server, { prompt: "On disk" });
    const files = await filesBelow(setup.testFolders.stateDir);
    expect(files.some((path) => path.endsWith("ledger.sqlite"))).toBe(true);
    for (const path of files) expect((await readFile(path)).includes(API_KEY)).toBe(false);
  });
});

it("an uncaught error that contains the key is logged in one line without it, and the process ends with 1", async () => {
  const boom = `process.once("SIGUSR2", () => { throw new Error("boom at ${API_KEY}", { cause: new Error("Bearer ${API_KEY}") }) })`;
  const setup = await openFaultSetup();
  const server = await setup.another(
    {},
    { nodeArgs: ["--import", `data:text/javascript,${encodeURIComponent(boom)}`] },
  );
  server.child.kill("SIGUSR2");
  expect(await server.exitWithin(60_000)).toMatchObject({ code: 1, signal: null });
  expect(server.stderr).toMatch(/uncaught error.*boom at \[redacted\]/);
  expect(server.stderr).not.toMatch(/\n\s+at /);
});
