/** File names of further takes, and notes about name conflicts. */
import { readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { expect, it } from "vitest";
import { setUpEach } from "../support/e2e-setup.ts";
import type { FakeService } from "../support/fake-service.ts";
import type { TestFolders } from "../support/test-folders.ts";
import type { ToolClient } from "../support/tool-client.ts";
import { resultTextOf, type ToolOutcome, taskOf } from "../support/tool-result.ts";

let service: FakeService;
let testFolders: TestFolders;
let client: ToolClient;

setUpEach((setup) => {
  ({ service, testFolders, client } = setup);
  return () => client;
});

const nameOf = (outcome: ToolOutcome): string => basename(taskOf(outcome).audio?.path ?? "");

it("another take under the same name gets a number, reports it, and keeps it on a repeat", async () => {
  const call = { prompt: "Over the bridge", file_name: "bridge" };
  expect(nameOf(await client.call("generate_audio", call))).toBe("bridge.mp3");
  for (const replayed of [false, true]) {
    const second = await client.call("generate_audio", { ...call, take: 2 });
    expect(nameOf(second)).toBe("bridge-2.mp3");
    expect(taskOf(second).replayed).toBe(replayed);
    for (const form of [resultTextOf(second), taskOf(second).message]) {
      expect(form).toMatch(/bridge\.mp3 is taken by the audio of task .*, take 1, .*so a number was added/);
    }
  }
  expect(await testFolders.outputNames()).toEqual(["bridge-2.mp3", "bridge.mp3"]);
});

it("the name of another request's file gets a number, and the answer names the owner", async () => {
  const first = taskOf(
    await client.call("generate_audio", { prompt: "The first text", file_name: "bridge" }),
  );
  const call = { prompt: "The second text", file_name: "bridge" };
  const second = await client.call("generate_audio", call);
  const { task_id } = taskOf(second);
  const reported = [
    second,
    await client.call("generate_audio", call),
    await client.call("get_task", { task_id }),
    await client.call("download_audio", { task_id }),
    await client.call("download_audio", { task_id, file_name: "bridge" }),
  ];
  for (const outcome of reported) {
    expect(nameOf(outcome)).toBe("bridge-2.mp3");
    for (const form of [resultTextOf(outcome), taskOf(outcome).message]) {
      expect(form).toContain(`task ${first.task_id}, take 1, of the text "The first text"`);
    }
  }
  expect(service.count("create")).toBe(2);
});

it("a file that this server did not write stays, and the answer says so", async () => {
  await client.call("generate_audio", { prompt: "Makes the folder" });
  await writeFile(join(testFolders.outputDir, "mine.mp3"), "somebody's own");
  const saved = await client.call("generate_audio", { prompt: "In the way", file_name: "mine" });
  expect(nameOf(saved)).toBe("mine-2.mp3");
  expect(resultTextOf(saved)).toMatch(/mine\.mp3 is taken by a file that the ledger does not know/);
  expect(await readFile(join(testFolders.outputDir, "mine.mp3"), "utf8")).toBe("somebody's own");
});

it("only a take with the same bytes as an earlier one says so, in both forms of every tool", async () => {
  const call = { prompt: "The same again" };
  const first = await client.call("generate_audio", call);
  const second = await client.call("generate_audio", { ...call, take: 2 });
  const { task_id } = taskOf(second);
  const identical = [
    second,
    await client.call("generate_audio", { ...call, take: 2 }),
    await client.call("get_task", { task_id }),
    await client.call("download_audio", { task_id }),
    // The note always names the first take with the same bytes.
    await client.call("generate_audio", { ...call, take: 3 }),
  ];
  for (const outcome of identical) {
    expect(taskOf(outcome).message).toContain("identical to take 1, byte for byte");
    expect(resultTextOf(outcome)).toContain("identical to take 1, byte for byte");
  }
  const other = await client.call("generate_audio", { ...call, take: 2, speed: 0.9 });
  for (const outcome of [first, other, await client.call("generate_audio", call)]) {
    expect(resultTextOf(outcome)).not.toContain("identical");
  }
});

it("white space around a text does not make a new request, and is not sent", async () => {
  const first = await client.call("generate_audio", { prompt: "Over the bridge" });
  const again = await client.call("generate_audio", { prompt: "  Over the bridge\n\n" });
  expect(taskOf(again)).toMatchObject({ task_id: taskOf(first).task_id, replayed: true });
  const padded = await client.call("generate_audio", { prompt: "\nUnder the bridge " });
  const sent = service.tasks.get(taskOf(padded).task_id)?.body ?? "";
  expect(JSON.parse(sent)).toMatchObject({ prompt: "Under the bridge" });
  expect(service.count("create")).toBe(2);
});

it("an automatic name ends at a word, with a short id, and never changes", async () => {
  const call = { prompt: "The harbour at dawn, before the first ferry leaves for the islands" };
  const first = await client.call("generate_audio", call);
  expect(nameOf(first)).toMatch(/^The-harbour-at-dawn-before-the-first-[0-9a-f]{8}\.mp3$/);
  await rm(taskOf(first).audio?.path ?? "");
  expect(nameOf(await client.call("generate_audio", call))).toBe(nameOf(first));
});
