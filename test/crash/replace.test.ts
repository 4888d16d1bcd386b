/**
 * The bin is killed at every step of replacing a file. Then the old or the new file is complete, and the repeated call
 * keeps the new one.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { preload } from "../platforms/run-bin.ts";
import { BIN, FAST, NODE } from "../support/bin-under-test.ts";
import { waitForExit } from "../support/processes.ts";
import { startCommandClient } from "../support/tool-client.ts";
import { generate } from "../support/tool-result.ts";
import { CrashSetup } from "./crash-setup.ts";

const FIRST = { prompt: "The first bridge", file_name: "bridge" };
const SECOND = { prompt: "The second bridge", file_name: "bridge", replace: true };
const NAME = "bridge.mp3";
const ASIDE = "bridge (previous).mp3";

interface Step {
  readonly at: string;
  readonly kill: { call: string; from: string; to?: string; when: "before" | "after" };
  /** The files that a person finds after the crash. */
  readonly leaves: Readonly<Record<string, "old" | "new">>;
}

const stepsWith = (publishing: "link" | "rename"): Step[] => [
  {
    at: "when the new one is whole, before anything is moved",
    kill: { call: "rename", from: NAME, to: ASIDE, when: "before" },
    leaves: { [NAME]: "old" },
  },
  {
    at: "when the old one has been moved",
    kill: { call: "rename", from: NAME, to: ASIDE, when: "after" },
    leaves: { [ASIDE]: "old" },
  },
  {
    at: "when the new one has its name",
    kill: { call: publishing, from: ".part", to: NAME, when: "after" },
    leaves: { [ASIDE]: "old", [NAME]: "new" },
  },
  {
    at: "when the old one has been removed, before that is recorded",
    kill: { call: "unlink", from: ASIDE, when: "after" },
    leaves: { [NAME]: "new" },
  },
];

const WITHOUT_LINKS = [{ call: "promises.link", code: "EPERM" }];

/**
 * Each way to replace a file, killed at each of its steps. In the second way, the new audio has already been saved
 * under another name.
 */
const cases = [
  { how: "new audio", wasSaved: false, faults: [], steps: stepsWith("link") },
  { how: "audio saved before", wasSaved: true, faults: [], steps: stepsWith("link") },
  { how: "on a disk without hard links", wasSaved: false, faults: WITHOUT_LINKS, steps: stepsWith("rename") },
].flatMap(({ steps, ...way }) => steps.map((step) => ({ ...way, ...step })));

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

let setup: CrashSetup;
afterEach(() => setup.close());

async function found(): Promise<Record<string, string>> {
  const entries = (await setup.finalNames()).map(async (name) => {
    const bytes = await readFile(join(setup.testFolders.outputDir, name));
    const task = [...setup.service.tasks.values()].find(({ audio }) => sha256(audio) === sha256(bytes));
    return [name, task === undefined ? "damaged" : task.body.includes("first") ? "old" : "new"];
  });
  return Object.fromEntries(await Promise.all(entries));
}

it.each(cases)("a kill during a replacement $how, $at", async ({ faults, wasSaved, kill, leaves }) => {
  setup = await CrashSetup.set();
  const before = await setup.start();
  await before.call("generate_audio", FIRST);
  const other = wasSaved ? { "tunnel.mp3": "new" } : {};
  if (wasSaved) {
    await before.call("generate_audio", { prompt: SECOND.prompt, file_name: "tunnel" });
  }
  await before.close();

  const killTarget = await startCommandClient({
    command: NODE,
    args: [...preload("fs-faults"), ...preload("kill-at"), BIN],
    env: setup.testFolders.env(setup.service, {
      ...FAST,
      TEST_FS_FAULTS: JSON.stringify(faults),
      TEST_KILL_AT: JSON.stringify(kill),
    }),
  });
  await killTarget.call("generate_audio", SECOND).catch(() => undefined);
  await waitForExit(killTarget.pid);
  expect(await found()).toEqual({ ...other, ...leaves });

  const successor = await setup.start();
  const task = await generate(successor, SECOND);
  expect(task.audio?.path).toBe(join(setup.testFolders.outputDir, NAME));
  expect(await found()).toEqual({ ...other, [NAME]: "new" });
  expect(setup.service.tasks.size).toBe(2);
});
