/** Faults of the disk: nothing is overwritten, nothing is written elsewhere, and paid audio is not lost. */
import { lstat, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { mountedFolder, NO_MOUNT, removeFolders } from "../files/folders.ts";
import { skipBecause } from "../support/skip-because.ts";
import { errorOf, generate, resultTextOf } from "../support/tool-result.ts";
import { closeAfterEach, openFaultSetup } from "./fault-setup.ts";

closeAfterEach();
afterEach(removeFolders);

/** Runs an action after the end of the task and before the first byte of its audio. */
function beforeDownload(action: () => Promise<void>) {
  return async (exchange: { kind: string; ordinal: number }): Promise<boolean> => {
    if (exchange.kind === "content" && exchange.ordinal === 1) await action();
    return false;
  };
}

it(
  "a full disk is reported as disk_full, leaves no partial file, and costs nothing when there is room again",
  skipBecause(NO_MOUNT),
  async () => {
    const folder = mountedFolder("size=128k");
    const setup = await openFaultSetup({
      service: { audioBytes: 400_000 },
      env: { AUDIO_OUTPUT_DIR: folder },
    });
    const call = { prompt: "No room" };
    const outcome = await setup.server.call("generate_audio", call);
    const [createdTaskId] = setup.service.tasks.keys();
    expect(errorOf(outcome)).toMatchObject({ code: "disk_full", task_id: createdTaskId });
    expect(resultTextOf(outcome)).toMatch(/free disk space/);
    expect(await readdir(folder)).toEqual([]);
    await setup.server.end();
    const unlimited = await setup.another({ AUDIO_OUTPUT_DIR: setup.testFolders.outputDir });
    expect((await generate(unlimited, call)).audio?.size_bytes).toBe(400_000);
    expect(setup.service.count("create")).toBe(1);
  },
);

it("a full disk from the start means that nothing is sent", skipBecause(NO_MOUNT), async () => {
  const folder = mountedFolder("size=64k");
  await writeFile(join(folder, "ballast"), Buffer.alloc(64 * 1024)).catch(() => undefined);
  const setup = await openFaultSetup({ env: { AUDIO_OUTPUT_DIR: folder } });
  const facts = errorOf(await setup.server.call("generate_audio", { prompt: "Full from the start" }));
  expect(facts).toMatchObject({ code: "disk_full", task_id: null });
  expect(setup.service.exchanges).toEqual([]);
});

describe("a folder that cannot be written", () => {
  const UNUSABLE: Array<[string, (root: string) => Promise<string>]> = [
    [
      "lies below a file",
      async (root) => {
        await mkdir(join(root, "out"), { recursive: true });
        await writeFile(join(root, "out", "file"), "x");
        return join(root, "out", "file", "deeper");
      },
    ],
    ["is a pseudo file system", async () => "/proc/audio"],
    [
      "is a link to itself",
      async (root) => {
        await mkdir(join(root, "out"), { recursive: true });
        await symlink(join(root, "out", "loop"), join(root, "out", "loop"));
        return join(root, "out", "loop");
      },
    ],
  ];
  it.each(UNUSABLE)("because it %s is reported before anything is sent", async (_what, make) => {
    const setup = await openFaultSetup();
    const folder = await make(setup.testFolders.root);
    const server = await setup.another({ AUDIO_OUTPUT_DIR: folder });
    const outcome = await server.call("generate_audio", { prompt: "Nowhere to go" });
    expect(errorOf(outcome)).toMatchObject({ code: "output_not_writable", task_id: null });
    expect(resultTextOf(outcome)).toContain(folder);
    expect(resultTextOf(outcome)).toMatch(/AUDIO_OUTPUT_DIR/);
    expect(setup.service.exchanges).toEqual([]);
  });
});

it.each(["out of the output folder", "into it"])(
  "a link in place of the folder of parts %s is refused, and nothing is sent",
  async (where) => {
    const setup = await openFaultSetup();
    const { outputDir, stateDir } = setup.testFolders;
    const target = where === "into it" ? join(outputDir, "elsewhere") : join(stateDir, "elsewhere");
    await mkdir(outputDir, { recursive: true });
    await mkdir(target, { recursive: true });
    await symlink(target, join(outputDir, ".parts"));
    const server = await setup.another();
    const call = { text: "One part.", max_credits: 1000, wait_seconds: 10 };
    const outcome = await server.call("narrate", call);
    expect(resultTextOf(outcome)).toMatch(/Stopped.*\.parts: the path now leads somewhere else/s);
    expect(await readdir(target)).toEqual([]);
    expect(setup.service.exchanges).toEqual([]);
    await rm(join(outputDir, ".parts"));
    await rm(target, { recursive: true });
    await server.call("narrate", call);
    expect(setup.service.count("create")).toBe(1);
    await rm(join(outputDir, ".parts"), { recursive: true });
  },
);

describe("another program that changes the output folder while a task runs", () => {
  it("and puts another file under the requested name: that file stays, and the audio is beside it", async () => {
    const setup = await openFaultSetup();
    const taken = join(setup.testFolders.outputDir, "song.mp3");
    setup.misbehave(beforeDownload(() => writeFile(taken, "mine")));
    const task = await generate(setup.server, { prompt: "Taken", file_name: "song" });
    expect(await readFile(taken, "utf8")).toBe("mine");
    expect(task.audio?.path).toBe(join(setup.testFolders.outputDir, "song-2.mp3"));
  });

  it("and puts a link out of the folder under the requested name: nothing is written through it", async () => {
    const setup = await openFaultSetup();
    const victim = join(setup.testFolders.stateDir, "victim.mp3");
    setup.misbehave(beforeDownload(() => symlink(victim, join(setup.testFolders.outputDir, "song.mp3"))));
    const task = await generate(setup.server, { prompt: "Linked", file_name: "song" });
    await expect(lstat(victim)).rejects.toThrow(/ENOENT/);
    expect(task.audio?.path).toBe(join(setup.testFolders.outputDir, "song-2.mp3"));
  });

  it("and swaps the folder for a link: nothing is written through it, and the audio is fetched when the folder is restored", async () => {
    const setup = await openFaultSetup();
    const { outputDir, stateDir } = setup.testFolders;
    const elsewhere = join(stateDir, "elsewhere");
    setup.misbehave(
      beforeDownload(async () => {
        await mkdir(elsewhere);
        await rm(outputDir, { recursive: true });
        await symlink(elsewhere, outputDir);
      }),
    );
    const call = { prompt: "Swapped" };
    const outcome = await setup.server.call("generate_audio", call);
    expect(errorOf(outcome)).toMatchObject({ code: "output_not_writable" });
    expect(await readdir(elsewhere)).toEqual([]);
    await rm(outputDir);
    expect((await generate(setup.server, call)).audio?.size_bytes).toBe(20_000);
    expect(setup.service.count("create")).toBe(1);
  });

  it("and removes the folder: it is created again with the audio in it", async () => {
    const setup = await openFaultSetup();
    const { outputDir } = setup.testFolders;
    let removed = false;
    setup.misbehave(async (exchange) => {
      if (exchange.kind === "query" && !removed) {
        removed = true;
        await rm(outputDir, { recursive: true });
      }
      return false;
    });
    const task = await generate(setup.server, { prompt: "Removed" });
    expect(await setup.testFolders.outputNames()).toEqual([task.audio?.path.split("/").at(-1)]);
  });
});

describe("saved audio that was tampered with", () => {
  const TAMPERINGS: Array<[string, (path: string, root: string) => Promise<unknown>]> = [
    ["changed", (path) => writeFile(path, "edited by hand")],
    ["removed", (path) => rm(path)],
    [
      "replaced by a link to another file",
      async (path) => {
        await rm(path);
        await symlink("/etc/hostname", path);
      },
    ],
  ];
  it.each(TAMPERINGS)(
    "(%s) is fetched again, free of charge, and the changed file is left alone",
    async (title, tamper) => {
      const setup = await openFaultSetup();
      const call = { prompt: `Tampered: ${title}`, file_name: "kept" };
      const first = await generate(setup.server, call);
      await tamper(first.audio?.path ?? "", setup.testFolders.root);
      const again = await generate(setup.server, call);
      expect(again).toMatchObject({ task_id: first.task_id, replayed: true });
      expect((await readFile(again.audio?.path ?? "")).length).toBe(20_000);
      expect((await lstat(again.audio?.path ?? "")).isFile()).toBe(true);
      if (title !== "removed") expect(again.audio?.path).not.toBe(first.audio?.path);
      expect(setup.service.count("create")).toBe(1);
    },
  );
});
