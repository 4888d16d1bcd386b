/**
 * Disks with their own spelling of names, and drives that cannot return real paths: files are found under every
 * spelling.
 */
import { mkdir, readdir, realpath, symlink } from "node:fs/promises";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { closeAfterEach, type FaultSetup, openFaultSetup } from "../faults/fault-setup.ts";
import type { RawServer } from "../faults/raw-server.ts";
import { errorOf, generate, resultTextOf, taskOf } from "../support/tool-result.ts";
import { preload } from "./run-bin.ts";

closeAfterEach();

const bytesAt = async (server: RawServer, uri: string): Promise<number> => {
  const { result, error } = await server.request("resources/read", { uri });
  if (error !== undefined) throw new Error(error.message);
  const [content] = Array.isArray(result?.["contents"]) ? result["contents"] : [];
  return Buffer.from(String(content?.blob), "base64").byteLength;
};

/** Starts a server on a disk that normalises names. `name` is the spelling in which the output folder is given. */
async function onOddDisk(setup: FaultSetup, name: string): Promise<RawServer> {
  const disk = await realpath(setup.testFolders.root);
  const env = { TEST_CASE_INSENSITIVE_DISK: join(disk, "out"), AUDIO_OUTPUT_DIR: join(disk, "out", name) };
  await mkdir(join(disk, "out"), { recursive: true });
  return await setup.another(env, { nodeArgs: preload("case-insensitive-disk") });
}

describe("a folder whose name the disk normalises", () => {
  it.each([
    ["a dot at the end", "dotted.", "dotted"],
    ["a space at the end", "spaced ", "spaced"],
  ])("(%s) stores the audio, and again on a repeat", async (_what, configured, onDisk) => {
    const setup = await openFaultSetup();
    const server = await onOddDisk(setup, configured);
    const call = { prompt: "Spelled", file_name: "story" };
    const { audio } = await generate(server, call);
    expect(audio?.path.endsWith(join(onDisk, "story.mp3"))).toBe(true);
    expect((await generate(server, call)).replayed).toBe(true);
    expect((await generate(server, { prompt: "Spelled", take: 2, file_name: "more" })).replayed).toBe(false);
    expect(await readdir(join(setup.testFolders.outputDir, onDisk))).toEqual(["more.mp3", "story.mp3"]);
    expect(setup.service.count("content")).toBe(2);
  });

  it("is the same one if another process has created it in another case or form meanwhile", async () => {
    const setup = await openFaultSetup();
    const server = await onOddDisk(setup, "T\u00f6ne");
    expect((await server.call("list_tasks", {})).isError).not.toBe(true);
    await mkdir(join(setup.testFolders.outputDir, "TO\u0308NE"));
    const call = { prompt: "Made meanwhile", file_name: "story" };
    expect((await generate(server, call)).status).toBe("succeeded");
    await server.end();
    const next = await onOddDisk(setup, "t\u00f6NE");
    expect((await generate(next, call)).replayed).toBe(true);
    expect(setup.service.count("content")).toBe(1);
  });

  it("does not allow links: on a case-sensitive disk, a link to a similar name is refused", async () => {
    const setup = await openFaultSetup();
    const { outputDir } = setup.testFolders;
    const folder = join(outputDir, "audio");
    const server = await setup.another({ AUDIO_OUTPUT_DIR: folder });
    expect((await server.call("list_tasks", {})).isError).not.toBe(true);
    await mkdir(join(outputDir, "AUDIO"), { recursive: true });
    await symlink(join(outputDir, "AUDIO"), folder);
    const outcome = await server.call("generate_audio", { prompt: "Through a link" });
    expect(errorOf(outcome).code).toBe("output_not_writable");
    expect(resultTextOf(outcome)).toContain("leads somewhere else");
    expect(await readdir(join(outputDir, "AUDIO"))).toEqual([]);
  });
});

describe("resources/read", () => {
  it("finds a file by any spelling that the disk accepts for it", async () => {
    const setup = await openFaultSetup();
    const server = await onOddDisk(setup, "Disk");
    const { audio } = await generate(server, { prompt: "Read", file_name: "Gr\u00fc\u00dfe" });
    const path = audio?.path ?? "";
    expect(await bytesAt(server, audio?.uri ?? "")).toBe(20_000);
    const folder = join(path, "..");
    const spellings = [
      join(folder, basename(path).toUpperCase().replace("SS", "\u00df")),
      join(folder, basename(path).normalize("NFD")),
      join(folder.replace(/Disk$/, "disk"), basename(path)),
    ];
    for (const spelling of spellings) {
      expect(await bytesAt(server, pathToFileURL(spelling).href)).toBe(20_000);
    }
  });

  it.each(["NFC", "NFD"] as const)("finds a file by the other Unicode form of its %s name", async (form) => {
    const setup = await openFaultSetup();
    const other = form === "NFC" ? "NFD" : "NFC";
    const folder = join(await realpath(setup.testFolders.root), "out", "Töne é".normalize(form));
    const server = await setup.another({ AUDIO_OUTPUT_DIR: folder });
    const call = { prompt: "Read", file_name: "Grüße 한국어".normalize(form) };
    const { path = "" } = (await generate(server, call)).audio ?? {};
    for (const spelling of [path, path.normalize(form), path.normalize(other)])
      expect(await bytesAt(server, pathToFileURL(spelling).href)).toBe(20_000);
    // A third file that is spelled like neither is no audio of the ledger.
    await expect(bytesAt(server, pathToFileURL(path.replace("Gr", "Ge")).href)).rejects.toThrow("not_found");
  });

  it("does not find another file on a case-sensitive disk", async () => {
    const setup = await openFaultSetup();
    const createdTask = await setup.server.call("generate_audio", {
      prompt: "Case counts",
      file_name: "story",
    });
    const { audio } = taskOf(createdTask);
    const other = pathToFileURL((audio?.path ?? "").replace("story", "STORY")).href;
    await expect(bytesAt(setup.server, other)).rejects.toThrow("not_found");
  });
});

it.each(["EISDIR", "UNKNOWN"])(
  "a drive without real paths (native realpath answers %s) is used nevertheless",
  async (code) => {
    const setup = await openFaultSetup({
      env: { TEST_FS_FAULTS: JSON.stringify([{ call: "promises.realpath", code }]) },
      start: { nodeArgs: preload("fs-faults") },
    });
    const { audio } = await generate(setup.server, { prompt: "RAM disk" });
    expect(await bytesAt(setup.server, audio?.uri ?? "")).toBe(20_000);
    expect((await generate(setup.server, { prompt: "RAM disk" })).replayed).toBe(true);
    expect(setup.service.count("content")).toBe(1);
  },
);
