/** File names of further takes, and notes about name conflicts. */
import { rm } from "node:fs/promises";
import { basename } from "node:path";
import { expect, it } from "vitest";
import { FAST } from "../support/bin-under-test.ts";
import { openClientEach, openFoldersEach, openServiceEach } from "../support/e2e-setup.ts";
import { startToolClient } from "../support/tool-client.ts";
import { generate, resultTextOf, type ToolOutcome, taskOf } from "../support/tool-result.ts";

const service = openServiceEach();
const testFolders = openFoldersEach();
const client = openClientEach(() => startToolClient(testFolders.env(service, FAST)));

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
  const first = await generate(client, { prompt: "The first text", file_name: "bridge" });
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
