/**
 * The resources that a host reads for the player: its page, and pieces of audio, captions and chapters. Reads with
 * invalid numbers and reads of changed files are errors.
 */
import { createHash } from "node:crypto";
import { appendFileSync, readFileSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { RawServer } from "../faults/raw-server.ts";
import { FAST } from "../support/bin-under-test.ts";
import { openFoldersEach, openServiceEach } from "../support/e2e-setup.ts";

const PLAYER = "ui://audio-generation/player.html";
const PIECE_BYTES = 512 * 1024;

const service = openServiceEach({ audioBytes: 1_200_000 });
const testFolders = openFoldersEach();

/** Starts a server. Only the bin, which an unconfigured one is, has the player's page: the build puts it there. */
async function start(isConfigured = true): Promise<RawServer> {
  const server = await RawServer.start(testFolders.env(isConfigured ? service : null, FAST), {
    isInProcess: isConfigured,
  });
  onTestFinished(async () => void (await server.end()));
  return server;
}

const blobs = z.object({ contents: z.tuple([z.object({ mimeType: z.string(), blob: z.base64() })]) });
const made = z.object({ task_id: z.string(), audio: z.object({ path: z.string() }) });

async function read(server: RawServer, uri: string): Promise<{ mimeType: string; bytes: Buffer }> {
  const { result } = await server.request("resources/read", { uri });
  const [{ mimeType, blob }] = blobs.parse(result).contents;
  return { mimeType, bytes: Buffer.from(blob, "base64") };
}

const errorAt = async (server: RawServer, uri: string) =>
  (await server.request("resources/read", { uri })).error;

it("the player's page is small, needs no settings, has the type that hosts expect, and is not in the list of files", async () => {
  const server = await start(false);
  const { result } = await server.request("resources/read", { uri: PLAYER });
  const page = z.object({ contents: z.tuple([z.looseObject({ text: z.string() })]) }).parse(result)
    .contents[0];
  expect(page).toMatchObject({
    uri: PLAYER,
    mimeType: "text/html;profile=mcp-app",
    _meta: { ui: { prefersBorder: true } },
  });
  expect(Buffer.byteLength(page.text)).toBeLessThanOrEqual(30 * 1024);
  expect(page.text).not.toMatch(/https?:|\bsrc=|\bhref=|@import|url\(/);
  expect((await server.request("resources/list")).result).toMatchObject({ resources: [] });
});

describe("pieces of a task's audio", () => {
  it("make up the file, are at most 512 KiB, and are empty past its end", async () => {
    const server = await start();
    const { structuredContent } = await server.call("generate_audio", { prompt: "In pieces" });
    const { task_id, audio } = made.parse(structuredContent);
    const file = readFileSync(audio.path);
    const uri = `audio://tasks/${task_id}/content`;
    const first = await read(server, `${uri}?offset=0&length=99999999`);
    expect(first.mimeType).toBe("audio/mpeg");
    expect(first.bytes.equals(file.subarray(0, PIECE_BYTES))).toBe(true);
    const last = await read(server, `${uri}?length=${PIECE_BYTES}&offset=${2 * PIECE_BYTES}`);
    expect(last.bytes.equals(file.subarray(2 * PIECE_BYTES))).toBe(true);
    expect((await read(server, `${uri}?offset=7`)).bytes.equals(file.subarray(7, 7 + PIECE_BYTES))).toBe(
      true,
    );
    expect((await read(server, `${uri}?offset=${file.length}&length=5`)).bytes).toHaveLength(0);
    expect((await read(server, `${uri}?offset=999999999999&length=5`)).bytes).toHaveLength(0);
    expect((await read(server, uri)).bytes.equals(file)).toBe(true);
  });

  it.each(["offset=-1", "length=0", "offset=", "size=3", ""])(
    "with the invalid %s are refused with -32602",
    async (query) => {
      const server = await start();
      const error = await errorAt(server, `audio://tasks/aud_1/content?${query}`);
      expect(error).toMatchObject({
        code: -32602,
        message: expect.stringContaining("offset must be a whole number"),
      });
    },
  );

  it("are refused for a file that was changed, replaced by a link, or removed", async () => {
    const server = await start();
    const { structuredContent } = await server.call("generate_audio", { prompt: "To be changed" });
    const { task_id, audio } = made.parse(structuredContent);
    const uri = `audio://tasks/${task_id}/content?offset=0&length=10`;
    const file = readFileSync(audio.path);
    expect((await read(server, uri)).bytes).toHaveLength(10);
    writeFileSync(audio.path, Buffer.alloc(file.length, 1));
    expect(await errorAt(server, uri)).toMatchObject({
      code: -32602,
      message: expect.stringContaining("not_found"),
    });
    writeFileSync(audio.path, file);
    expect((await read(server, uri)).bytes).toHaveLength(10);
    appendFileSync(audio.path, "more");
    expect(await errorAt(server, uri)).toMatchObject({ code: -32602 });
    unlinkSync(audio.path);
    writeFileSync(join(testFolders.root, "elsewhere.mp3"), file);
    symlinkSync(join(testFolders.root, "elsewhere.mp3"), audio.path);
    expect(await errorAt(server, uri)).toMatchObject({ code: -32602 });
    expect(await errorAt(server, "audio://tasks/..%2f..%2fetc/content?offset=0")).toMatchObject({
      code: -32602,
    });
  });
});

describe("pieces of a narration", () => {
  const finished = z.object({
    narration_id: z.string(),
    files: z.tuple([z.object({ path: z.string(), captions_path: z.string(), sha256: z.string() })]),
  });

  it("exist for its file, its captions and its chapters; other numbers are not found", async () => {
    const server = await RawServer.start(testFolders.env(null, FAST), {
      args: ["--sandbox"],
      isInProcess: true,
    });
    onTestFinished(async () => void (await server.end()));
    const text = "# One\n\nIt is late in the harbour.\n\n# Two\n\nGood night to all of you.\n";
    const { structuredContent } = await server.call("narrate", { text, max_credits: 1000, wait_seconds: 25 });
    const { narration_id, files } = finished.parse(structuredContent);
    const uri = `audio://narrations/${narration_id}/files/1`;
    const { bytes } = await read(server, `${uri}?offset=0`);
    expect(createHash("sha256").update(bytes).digest("hex")).toBe(files[0].sha256);
    expect((await read(server, uri)).bytes.equals(bytes)).toBe(true);
    const captions = await read(server, `${uri}/captions?offset=0&length=600`);
    expect(captions.mimeType).toBe("text/vtt");
    expect(captions.bytes.toString()).toBe(readFileSync(files[0].captions_path, "utf8").slice(0, 600));
    const chapters = await read(server, `${uri}/chapters`);
    expect(JSON.parse(chapters.bytes.toString())).toMatchObject({
      chapters: [{ title: "One" }, { title: "Two" }],
    });
    const none = [
      `${uri}/other`,
      `audio://narrations/${narration_id}/files/2?offset=0`,
      "audio://narrations/nar_0/files/1",
    ];
    for (const address of none)
      expect(await errorAt(server, address), address).toMatchObject({ code: -32602 });
    expect(await errorAt(server, `${uri}?offset=x`)).toMatchObject({ code: -32602 });
  });
});
