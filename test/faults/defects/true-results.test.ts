/** Results do not mislead: they come in time, name the right file, and have a message that helps. */
import { rm } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { generate, resultTextOf, taskOf } from "../../support/tool-result.ts";
import { closeAfterEach, type FaultSetup, openFaultSetup } from "../fault-setup.ts";
import { refusing } from "../wire.ts";
import {
  codeOf,
  ledgerFile,
  pause,
  readOnlyTaskRow,
  readTaskRows,
  waitForExchanges,
  waitForSavedFiles,
} from "./read-from-outside.ts";

closeAfterEach();

const NEWER_KEY = "sk-newer-0123456789abcdef";
const OLDER_KEY = "sk-older-0123456789abcdef";

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const sinceMs = performance.now();
  await work();
  return (performance.now() - sinceMs) / 1000;
}

/** Makes a task under the earlier key, and does not save its audio. A server with the new key must query it first. */
async function underAnotherKey(
  prompt: string,
  env: Record<string, string> = {},
): Promise<{ setup: FaultSetup; id: string }> {
  const setup = await openFaultSetup({ service: { apiKeys: [OLDER_KEY, NEWER_KEY] }, env });
  setup.misbehaveAlways("content", refusing(503, "api_unavailable"));
  const task = await generate(setup.server, { prompt, wait_seconds: 0 });
  await waitForExchanges(setup, "content");
  await setup.server.end();
  return { setup, id: task.task_id ?? "" };
}

// Finding, waiting and downloading share the time of one call.
describe("a call ends before its client gives up, even if", () => {
  /** Lets the service answer the first query after most of the call's time, and nothing afterwards. */
  function slowly(setup: FaultSetup): void {
    let questions = 0;
    setup.misbehave(async (exchange, response, service) => {
      if (exchange.kind === "other") return false;
      questions += 1;
      if (questions === 1 && exchange.kind === "query") {
        await pause(3000);
        service.answer(exchange, response);
      }
      return true;
    });
  }

  it("generate_audio searches under another key before it waits", async () => {
    const { setup } = await underAnotherKey("Searched for slowly");
    slowly(setup);
    const later = await setup.another({ AUDIO_API_KEY: NEWER_KEY });
    await later.call("list_voices", {});
    const call = { prompt: "Searched for slowly", wait_seconds: 4 };
    const seconds = await secondsOf(() => later.call("generate_audio", call));
    expect(seconds).toBeLessThan(6.8);
    setup.service.dropConnections();
  });

  it.each(["get_task", "download_audio"])("%s looks for a task of another key first", async (tool) => {
    const { setup, id } = await underAnotherKey("Looked for slowly", { AUDIO_WAIT_SECONDS: "4" });
    slowly(setup);
    const later = await setup.another({ AUDIO_API_KEY: NEWER_KEY });
    await later.call("list_voices", {});
    const wait = tool === "get_task" ? { wait_seconds: 4 } : {};
    const seconds = await secondsOf(() => later.call(tool, { task_id: id, ...wait }));
    expect(seconds).toBeLessThan(6.8);
    setup.service.dropConnections();
  });
});

// A person deletes a file, and the next file gets the same name. Each link must lead to the bytes of its own task.
it("a file name that is used again after its file was deleted belongs to the newest task: every link just returned can be read, and the list gives the file to that one", async () => {
  const setup = await openFaultSetup();
  for (const text of ["one", "two", "three", "four"]) {
    const call = { prompt: `Take of ${text}`, file_name: "again", wait_seconds: 5 };
    const { audio, task_id: id } = await generate(setup.server, call);
    for (const uri of [audio?.uri, `audio://tasks/${id}/content`]) {
      const answer = await setup.server.request("resources/read", { uri });
      expect(answer.result, `${text}: ${JSON.stringify(answer.error)}`).toBeDefined();
    }
    const rows = await readTaskRows(setup.server);
    expect(rows.filter(({ audio_path: path }) => path != null).map(({ task_id: shown }) => shown)).toEqual([
      id,
    ]);
    if (text !== "four") await rm(audio?.path ?? "");
  }
  // The audio of the first task is downloaded again, at no cost, and the newest file stays unchanged.
  const first = await generate(setup.server, { prompt: "Take of one", wait_seconds: 5 });
  expect(first.audio?.path).not.toMatch(/again\.mp3$/);
  expect(setup.service.tasks.size).toBe(4);
});

/** Changes a stored record to what another version of the program would have written. */
function rewrite(setup: FaultSetup, from: string, to: string): void {
  const { changes } = ledgerFile(setup)
    .prepare("UPDATE agm_request SET body = replace(body, ?, ?)")
    .run(from, to);
  expect(Number(changes)).toBeGreaterThan(0);
}

// A stored request was valid when it was sent. It can be listed and its audio can be saved, even if today's rules would
// refuse it, for example because its voice was retired.
it.each([
  ["a voice that was retired", "stokie_en", "stokie_retired_en"],
  ["a rate that is not offered any more", '"sample_rate":24000', '"sample_rate":23999'],
  ["a field of a newer version", '"speed"', '"tempo"'],
])(
  "a stored request that today's rules would refuse (%s) is listed, asked for and saved",
  async (_, from, to) => {
    const setup = await openFaultSetup({ service: { processingMs: 300 } });
    const call = { prompt: "Asked for long ago", voice: "stokie_en", wait_seconds: 0 };
    const { task_id: id } = await generate(setup.server, call);
    await setup.server.end();
    rewrite(setup, from, to);
    const later = await setup.another();
    const row = await readOnlyTaskRow(later);
    expect(row).toMatchObject({ task_id: id, prompt_excerpt: "Asked for long ago" });
    await waitForSavedFiles(setup);
    const task = taskOf(await later.call("get_task", { task_id: id, wait_seconds: 5 }));
    expect(task.status).toBe("succeeded");
    expect(setup.service.tasks.size).toBe(1);
  },
);

// Megabytes are downloaded only on an explicit request, because traffic may cost the user money.
it("audio that exceeds the size limit is not fetched again by list_tasks, only by a call for that task", async () => {
  const setup = await openFaultSetup();
  setup.misbehaveAlways("content", (response) => {
    response.writeHead(200, {
      "content-type": "application/octet-stream",
      "content-length": 70 * 1024 * 1024,
    });
    response.write(Buffer.alloc(1024));
  });
  const call = { prompt: "Too long a song", wait_seconds: 5 };
  expect(codeOf(await setup.server.call("generate_audio", call))).toBe("too_large");
  const later = await setup.another();
  for (const server of [setup.server, setup.server, later, later]) {
    await readOnlyTaskRow(server);
    await pause(150);
  }
  expect(setup.service.count("content")).toBe(1);
  const { task_id: id, next_step: nextStep } = await readOnlyTaskRow(later);
  expect(nextStep).toContain("larger");
  expect(codeOf(await later.call("download_audio", { task_id: id }))).toBe("too_large");
  expect(setup.service.count("content")).toBe(2);
  expect(setup.service.tasks.size).toBe(1);
});

/** A preload in which the body of a submission cannot be serialised, as by a bug in this program. */
const MISTAKE = `data:text/javascript,${encodeURIComponent(`
  const { from } = Buffer;
  Buffer.from = function (body, ...more) {
    if (typeof body === "string" && /^{.*a mistake of ours/.test(body)) throw new TypeError("made by the test");
    return from.call(this, body, ...more);
  };`)}`;

// A bug of ours is reported at once, because repeats would not help.
it("a bug that throws before the request is sent is reported at once, as a fault of this server, and not retried", async () => {
  const setup = await openFaultSetup({
    start: { nodeArgs: ["--import", MISTAKE] },
    env: { AUDIO_TIME_SCALE: "0.01" },
  });
  let outcome = "";
  const seconds = await secondsOf(async () => {
    const refused = await setup.server.call("generate_audio", {
      prompt: "This meets a mistake of ours",
      wait_seconds: 60,
    });
    outcome = codeOf(refused);
    expect(resultTextOf(refused)).not.toMatch(/connection|AUDIO_BASE_URL/);
  });
  expect(outcome).toBe("unexpected_response");
  expect(seconds).toBeLessThan(30);
  expect(setup.service.exchanges).toEqual([]);
  expect(setup.server.stderr).toContain("made by the test");
});
