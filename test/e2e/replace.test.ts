/** `replace: true` saves the new audio under the name of an old one (docs/reference-files.md, Names of files). */
import { readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { expect, it } from "vitest";
import { z } from "zod";
import { FAST } from "../support/bin-under-test.ts";
import { openClientEach, openFoldersEach, openServiceEach } from "../support/e2e-setup.ts";
import { startToolClient } from "../support/tool-client.ts";
import { errorOf, resultTextOf, type ToolOutcome, taskOf } from "../support/tool-result.ts";

const service = openServiceEach();
const testFolders = openFoldersEach();
const client = openClientEach(() => startToolClient(testFolders.env(service, FAST)));

const listed = z.object({ tasks: z.array(z.record(z.string(), z.unknown())) });

const FIRST = { prompt: "The first bridge", file_name: "bridge" };
const SECOND = { prompt: "The second bridge", file_name: "bridge" };
const AGAIN = { ...SECOND, replace: true };

const generate = (args: Record<string, unknown>): Promise<ToolOutcome> => client.call("generate_audio", args);
const nameOf = (outcome: ToolOutcome): string => basename(taskOf(outcome).audio?.path ?? "");
const inFolder = (name: string): Promise<Buffer> => readFile(join(testFolders.outputDir, name));
const audioOf = (outcome: ToolOutcome): Buffer | undefined =>
  service.tasks.get(taskOf(outcome).task_id)?.audio;

it("the new audio gets the name, and the old one is removed and restored free of charge on request", async () => {
  const first = await generate(FIRST);
  const second = await generate(AGAIN);
  expect(nameOf(second)).toBe("bridge.mp3");
  expect(await testFolders.outputNames()).toEqual(["bridge.mp3"]);
  expect(await inFolder("bridge.mp3")).toEqual(audioOf(second));

  const back = await generate(FIRST);
  expect(nameOf(back)).toBe("bridge-2.mp3");
  expect(await inFolder("bridge-2.mp3")).toEqual(audioOf(first));
  expect(service.count("create")).toBe(2);
});

it.each([
  ["NFC", "NFD"],
  ["NFD", "NFC"],
] as const)("a name in %s is that of a file in %s", async (form, other) => {
  const [name, again] = [
    "Pont de l’Évêché 한국어".normalize(form),
    "Pont de l’Évêché 한국어".normalize(other),
  ];
  const first = await generate({ ...FIRST, file_name: name });
  const second = await generate({ ...SECOND, file_name: again });
  expect(nameOf(second)).toBe(nameOf(first).replace(".mp3", "-2.mp3"));
  const third = await generate({ prompt: "The third bridge", file_name: again, replace: true });
  expect(await inFolder(nameOf(first))).toEqual(audioOf(third));
  expect(nameOf(await generate({ prompt: "The third bridge", file_name: name }))).toBe(nameOf(first));
  // A file of a person, whatever its form, keeps its name to itself.
  await writeFile(join(testFolders.outputDir, "Brücke.mp3".normalize(form)), "mine");
  const fourth = await generate({
    prompt: "The fourth bridge",
    file_name: "Brücke".normalize(other),
    replace: true,
  });
  expect(nameOf(fourth)).toBe("Brücke-2.mp3".normalize("NFC"));
  expect(await testFolders.outputNames()).toHaveLength(4);
});

it.each([
  ["a file that a person has edited since", "bridge.mp3", "edited"],
  ["a file of somebody else's", "bridge.mp3", "somebody's own"],
])("%s is foreign: it stays, and the new audio has a number", async (_what, name, content) => {
  if (content === "edited") await generate(FIRST);
  else await generate({ prompt: "Makes the folder" });
  await writeFile(join(testFolders.outputDir, name), content);
  const again = await generate(AGAIN);
  expect(nameOf(again)).toBe("bridge-2.mp3");
  expect(resultTextOf(again)).toContain(
    "replace takes the place of a task's file alone, and of none that was edited.",
  );
  expect(await inFolder(name)).toEqual(Buffer.from(content));
});

it("the lists show the present owner of the file, regardless of the order of the requests", async () => {
  const second = taskOf(await generate({ ...SECOND, file_name: "tunnel" }));
  const first = taskOf(await generate(FIRST));
  await generate(AGAIN);
  const rows = async (): Promise<Array<Record<string, unknown>>> =>
    listed.parse((await client.call("list_tasks", {})).structuredContent).tasks;
  const path = join(testFolders.outputDir, "bridge.mp3");
  expect(await rows()).toMatchObject([
    { task_id: first.task_id, replaced_by: second.task_id },
    { task_id: second.task_id, audio_path: path },
  ]);
  await generate({ ...FIRST, replace: true });
  expect(await rows()).toMatchObject([
    { task_id: first.task_id, audio_path: path },
    { task_id: second.task_id, audio_path: join(testFolders.outputDir, "tunnel.mp3") },
  ]);
});

it("audio that is already saved replaces another file without a request to the service", async () => {
  await generate(FIRST);
  const second = await generate({ ...SECOND, file_name: "tunnel" });
  expect(nameOf(await generate(AGAIN))).toBe("bridge.mp3");
  expect(await testFolders.outputNames()).toEqual(["bridge.mp3", "tunnel.mp3"]);
  expect(await inFolder("bridge.mp3")).toEqual(audioOf(second));
  expect(service.count("create")).toBe(2);
});

it("a failed task replaces nothing, and neither does a later call without replace", async () => {
  const first = await generate(FIRST);
  let isFailing = true;
  service.intercept = (exchange) => {
    const task = service.tasks.get(exchange.taskId ?? "");
    if (isFailing && exchange.kind === "query" && task?.body.includes("second") === true)
      task.status = "failed";
    return false;
  };
  expect(errorOf(await generate(AGAIN)).code).toBe("task_failed");
  expect(await testFolders.outputNames()).toEqual(["bridge.mp3"]);
  expect(await inFolder("bridge.mp3")).toEqual(audioOf(first));

  isFailing = false;
  expect(nameOf(await generate(SECOND))).toBe("bridge-2.mp3");
  expect(await inFolder("bridge.mp3")).toEqual(audioOf(first));
});

it("is refused without a file_name, and has no effect if there is no file to replace", async () => {
  const refused = await generate({ prompt: "No name", replace: true });
  expect(errorOf(refused).code).toBe("invalid_request");
  expect(resultTextOf(refused)).toMatch(/replace needs the file_name/);
  expect(nameOf(await generate({ ...FIRST, replace: true }))).toBe("bridge.mp3");
  await rm(join(testFolders.outputDir, "bridge.mp3"));
  expect(nameOf(await generate(AGAIN))).toBe("bridge.mp3");
});
