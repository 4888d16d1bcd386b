/** The playlist beside a narration that is being made: ordinary players follow it and end with it. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import {
  copyFile,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  truncate,
  utimes,
  writeFile,
} from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, type TestContext } from "vitest";
import { BIN, FAST, NODE, NODE_FLAGS } from "../support/bin-under-test.ts";
import { killHard } from "../support/processes.ts";
import { missing, skipBecause } from "../support/skip-because.ts";
import { describeWithBrowser, launch } from "./chat-host.ts";
import {
  beginDialogue,
  type NarrationStage,
  openStage,
  readRows,
  waitForEnd,
  waitForSaved,
} from "./narration-stage.ts";
import { decodeFile } from "./recording.ts";

const HLS = fileURLToPath(import.meta.resolve("hls.js/dist/hls.light.min.js"));

async function findPlaylists({ folders }: NarrationStage): Promise<string[]> {
  return (await folders.outputNames())
    .filter((name) => name.endsWith(".m3u8"))
    .map((name) => join(folders.outputDir, name));
}

async function waitForPlaylist(stage: NarrationStage): Promise<string> {
  await expect.poll(() => findPlaylists(stage)).not.toEqual([]);
  return (await findPlaylists(stage))[0] ?? "";
}

const readSegments = async (path: string) =>
  [...(await readFile(path, "utf8")).matchAll(/^#EXTINF:([\d.]+),\n(.*)$/gm)].map(([, seconds, uri]) => ({
    seconds: Number(seconds),
    uri: uri ?? "",
  }));

async function runProgram(
  program: string,
  args: readonly string[],
): Promise<{ code: number; errors: string }> {
  const child = spawn(program, args, { stdio: ["ignore", "ignore", "pipe"] });
  let errors = "";
  child.stderr.on("data", (chunk) => {
    errors += chunk;
  });
  return await new Promise((resolve) => child.on("exit", (code) => resolve({ code: code ?? -1, errors })));
}

async function begin(test: TestContext, turns: number) {
  const stage = await openStage(test);
  const server = await stage.startServer();
  stage.speech.held = /Turn ([4-9]|\d\d)\./;
  const { id } = await beginDialogue(server, turns, { file_name: "harbour" });
  return { stage, server, id };
}

describe("the playlist of a narration", skipBecause(missing("ffmpeg")), () => {
  it("is followed by ffmpeg to its end, and has the sound of the joined file to the sample", async (test) => {
    const { stage, server, id } = await begin(test, 10);
    const path = await waitForPlaylist(stage);
    expect(path).toBe(join(stage.folders.outputDir, "harbour.m3u8"));
    const begun = await readFile(path, "utf8");
    expect(begun).toMatch(/^#EXTM3U\n/);
    expect(begun).toContain("#EXT-X-PLAYLIST-TYPE:EVENT\n");
    expect(begun).not.toContain("#EXT-X-ENDLIST");
    const { content } = await server.call("narrate", { narration_id: id, wait_seconds: 0 });
    expect(JSON.stringify(content)).toContain(`To listen while it is made, play ${path}`);
    const copy = join(stage.folders.root, "followed.wav");
    const following = runProgram("ffmpeg", ["-v", "error", "-live_start_index", "0", "-i", path, copy]);
    stage.speech.held = /^$/;
    const { status, path: file } = await waitForEnd(server, id);
    expect(status).toBe("finished");
    expect(await following).toMatchObject({ code: 0 });
    const ended = await readFile(path, "utf8");
    // It has only grown.
    expect(ended.startsWith(begun)).toBe(true);
    expect(ended.endsWith("#EXT-X-ENDLIST\n")).toBe(true);
    const [followed, joined] = [decodeFile(copy), decodeFile(file)];
    expect(followed.length).toBe(joined.length);
    // The copy has 16 bits a sample.
    expect(followed.every((sample, index) => Math.abs(sample - (joined[index] ?? 1)) < 1e-3)).toBe(true);
    const segments = await readSegments(path);
    const target = Number(/TARGETDURATION:(\d+)/.exec(ended)?.[1]);
    expect(Math.max(...segments.map(({ seconds }) => seconds))).toBeLessThanOrEqual(target);
    let atSeconds = 0;
    for (const { seconds, uri } of segments) {
      const bytes = await readFile(join(stage.folders.outputDir, uri));
      expect(bytes.subarray(0, 3).toString("latin1")).toBe("ID3");
      const owner = bytes.indexOf("com.apple.streaming.transportStreamTimestamp\0");
      const stamp = bytes.readBigUInt64BE(owner + 45);
      expect(Number(stamp) / 90_000).toBeCloseTo(atSeconds, 3);
      atSeconds += seconds;
    }
    // Somebody who has followed it from the beginning hears it to the end; then it is removed.
    await expect.poll(() => findPlaylists(stage), { timeout: 90_000 }).toEqual([]);
    const parts = await readdir(join(stage.folders.outputDir, ".parts"));
    expect(parts.filter((name) => name.endsWith(".live"))).toEqual([]);
  });

  it("passes over a failed part, and ends when the narration is stopped", async (test) => {
    const stage = await openStage(test);
    const server = await stage.startServer();
    stage.speech.failing = /Turn 2\./;
    stage.speech.held = /Turn [5-9]\./;
    const { id } = await beginDialogue(server, 8);
    await waitForSaved(server, id, 3);
    const path = await waitForPlaylist(stage);
    await expect.poll(async () => (await readSegments(path)).at(-1)?.uri).toMatch(/00004-01\.mp3$/);
    expect((await readSegments(path)).some(({ uri }) => uri.includes("/00002-"))).toBe(false);
    await server.call("narrate", { narration_id: id, stop: true });
    stage.speech.held = /^$/;
    await expect.poll(() => readFile(path, "utf8")).toMatch(/#EXT-X-ENDLIST\n$/);
    // The parts that were with the service at the stop are paid for, saved, and heard.
    expect((await readSegments(path)).map(({ uri }) => uri.slice(-12, -7))).toEqual(
      expect.arrayContaining(["00005", "00006"]),
    );
  });

  it("is continued by the process that takes over from one that was killed", async (test) => {
    const { stage, server, id } = await begin(test, 8);
    await waitForSaved(server, id, 3);
    const path = await waitForPlaylist(stage);
    await expect.poll(async () => (await readSegments(path)).length).toBe(3);
    const before = await readFile(path, "utf8");
    await killHard(server.pid);
    stage.speech.held = /^$/;
    const other = await stage.startServer();
    const { status, path: file } = await waitForEnd(other, id);
    expect(status).toBe("finished");
    expect(await findPlaylists(stage)).toEqual([path]);
    expect((await readFile(path, "utf8")).startsWith(before)).toBe(true);
    const copy = join(stage.folders.root, "whole.wav");
    expect(await runProgram("ffmpeg", ["-v", "error", "-i", path, copy])).toMatchObject({ code: 0 });
    expect(decodeFile(copy).length).toBe(decodeFile(file).length);
  });

  it("is continued behind its last whole segment if it is torn within a line", async (test) => {
    const { stage, server, id } = await begin(test, 8);
    const path = await waitForPlaylist(stage);
    await expect.poll(async () => (await readSegments(path)).length).toBe(3);
    await killHard(server.pid);
    await truncate(path, (await readFile(path)).length - 9);
    stage.speech.held = /^$/;
    const { path: file } = await waitForEnd(await stage.startServer(), id);
    const names = (await readSegments(path)).map(({ uri }) => basename(uri));
    expect(names).toEqual([1, 2, 3, 4, 5, 6, 7, 8].map((part) => `0000${part}-01.mp3`));
    const copy = join(stage.folders.root, "whole.wav");
    expect(await runProgram("ffmpeg", ["-v", "error", "-i", path, copy])).toMatchObject({ code: 0 });
    expect(decodeFile(copy).length).toBe(decodeFile(file).length);
  });

  it("is ended even if it could not be continued, so that nobody waits for more", async (test) => {
    const { stage, server, id } = await begin(test, 8);
    const path = await waitForPlaylist(stage);
    await expect.poll(async () => (await readSegments(path)).length).toBe(3);
    const segments = join(stage.folders.outputDir, ".parts", `${id}.live`);
    await rename(segments, `${segments}.moved`);
    await writeFile(segments, "in the way");
    stage.speech.held = /^$/;
    expect((await waitForEnd(server, id)).status).toBe("finished");
    await expect.poll(() => readFile(path, "utf8")).toMatch(/#EXT-X-ENDLIST\n$/);
    expect(await readSegments(path)).toHaveLength(3);
  });

  it("writes no segment through a link", async (test) => {
    const { stage, server, id } = await begin(test, 8);
    const path = await waitForPlaylist(stage);
    await expect.poll(async () => (await readSegments(path)).length).toBe(3);
    const segments = join(stage.folders.outputDir, ".parts", `${id}.live`);
    const [file, folder] = ["mine.txt", "mine"].map((name) => join(stage.folders.root, name));
    await writeFile(`${file}`, "mine");
    await symlink(`${file}`, join(segments, "00004-01.mp3"));
    stage.speech.held = /Turn ([5-9]|\d\d)\./;
    await expect.poll(async () => (await readSegments(path)).length).toBe(4);
    await rename(segments, `${folder}`);
    await symlink(`${folder}`, segments);
    stage.speech.held = /^$/;
    expect((await waitForEnd(server, id)).status).toBe("finished");
    expect(await readFile(`${file}`, "utf8")).toBe("mine");
    expect((await readdir(`${folder}`)).filter((name) => !/^0000[1-4]-01\.mp3$/.test(name))).toEqual([]);
    await expect.poll(() => readFile(path, "utf8")).toMatch(/#EXT-X-ENDLIST\n$/);
  });

  it("passes over a part that is damaged on the disk", async (test) => {
    const { stage, server, id } = await begin(test, 8);
    const path = await waitForPlaylist(stage);
    stage.speech.held = /Turn 4\./;
    await expect.poll(async () => (await readRows(server, id))[4]?.status).toBe("saved");
    const parts = join(stage.folders.outputDir, ".parts");
    const name = (await readdir(parts)).find((each) => each.startsWith("Turn-5-") && each.endsWith(".mp3"));
    const damaged = join(parts, `${name}`);
    await writeFile(damaged, Buffer.alloc((await readFile(damaged)).length, 7));
    stage.speech.held = /^$/;
    expect((await waitForEnd(server, id)).status).toBe("finished");
    const heard = (await readSegments(path)).map(({ uri }) => Number(/(\d+)-01\.mp3$/.exec(uri)?.[1]));
    expect(heard).toEqual([1, 2, 3, 4, 6, 7, 8]);
  });

  it("keeps its segments while there is a copy of an earlier day", async (test) => {
    const { stage, server, id } = await begin(test, 8);
    const path = await waitForPlaylist(stage);
    await expect.poll(async () => (await readSegments(path)).length).toBe(3);
    const copy = join(stage.folders.outputDir, "copy.m3u8");
    await copyFile(path, copy);
    await utimes(copy, 0, 0);
    const other = await stage.startServer();
    // A server that is used for narrations removes old playlists.
    await other.call("narrate", { text: "A plan.", wait_seconds: 0 });
    stage.speech.held = /^$/;
    await waitForEnd(other, id);
    await waitForEnd(server, id);
    const there = (await readSegments(path)).map(({ uri }) => existsSync(join(stage.folders.outputDir, uri)));
    expect(there).toEqual(Array(8).fill(true));
  });

  it("leaves no segments behind if somebody has removed it", async (test) => {
    const { stage, server, id } = await begin(test, 8);
    await rm(await waitForPlaylist(stage));
    stage.speech.held = /^$/;
    expect((await waitForEnd(server, id)).status).toBe("finished");
    expect(existsSync(join(stage.folders.outputDir, ".parts", `${id}.live`))).toBe(false);
  });

  it("goes on after a stop, however long the next part takes", async (test) => {
    const stage = await openStage(test);
    const server = await stage.startServer();
    stage.speech.held = /Turn [3-9]\./;
    stage.speech.failing = /Turn [3-5]\./;
    const { id } = await beginDialogue(server, 8);
    const path = await waitForPlaylist(stage);
    await server.call("narrate", { narration_id: id, stop: true });
    stage.speech.held = /^$/;
    await expect.poll(() => readFile(path, "utf8")).toContain("#EXT-X-ENDLIST");
    [stage.speech.held, stage.speech.failing] = [/Turn [3-9]\./, /^$/];
    await server.call("narrate", { narration_id: id, max_credits: 20_000, wait_seconds: 0 });
    await expect.poll(() => readFile(path, "utf8")).not.toContain("#EXT-X-ENDLIST");
    stage.speech.held = /^$/;
    expect((await waitForEnd(server, id)).status).toBe("finished");
    expect(await readSegments(path)).toHaveLength(8);
  });

  it("is kept beside a pipe and a device that have such names", async (test) => {
    const stage = await openStage(test);
    const server = await stage.startServer();
    await mkdir(stage.folders.outputDir, { recursive: true });
    const [pipe, device] = ["a.m3u8", "b.m3u8"].map((name) => join(stage.folders.outputDir, name));
    expect((await runProgram("mkfifo", [`${pipe}`])).code).toBe(0);
    await symlink("/dev/zero", `${device}`);
    stage.speech.held = /Turn [2-9]\./;
    const { id } = await beginDialogue(server, 5, { file_name: "harbour" });
    const path = join(stage.folders.outputDir, "harbour.m3u8");
    await expect.poll(() => findPlaylists(stage)).toContain(path);
    stage.speech.held = /^$/;
    expect((await waitForEnd(server, id)).status).toBe("finished");
  });

  it("takes no file's name, and leaves alone what somebody puts in its place", async (test) => {
    const stage = await openStage(test);
    const server = await stage.startServer();
    stage.speech.held = /Turn [4-9]\./;
    await server.call("list_voices", {});
    const first = await beginDialogue(server, 3, { file_name: "other" });
    await waitForEnd(server, first.id);
    const own = join(stage.folders.outputDir, "harbour.m3u8");
    await writeFile(own, "#EXTM3U\nmine.mp3\n");
    const { id } = await beginDialogue(server, 8, { file_name: "harbour" });
    await expect.poll(() => findPlaylists(stage)).toHaveLength(2);
    const numbered = join(stage.folders.outputDir, "harbour-2.m3u8");
    expect(await findPlaylists(stage)).toContain(numbered);
    await writeFile(numbered, "#EXTM3U\nmine, too.mp3\n");
    stage.speech.held = /^$/;
    await waitForEnd(server, id);
    expect(await readFile(own, "utf8")).toBe("#EXTM3U\nmine.mp3\n");
    expect(await readFile(numbered, "utf8")).toBe("#EXTM3U\nmine, too.mp3\n");
  });

  it.for([
    ["mp3", /^To listen while it is made, play .*harbour\.m3u8(?: \(mpv .*\))?$/m],
    ["wav", /^The saved parts are in .*\.parts; the file comes at the end\.$/m],
  ] as const)(
    "is named once by the command, or the saved parts are, for %s",
    async ([format, words], test) => {
      const stage = await openStage(test);
      const { baseUrl, apiKey, outputDir, root } = { ...stage.service, ...stage.folders };
      const file = join(root, "script.md");
      const turns = Array.from(
        { length: 9 },
        (_, turn) => `${turn % 2 === 0 ? "Ann" : "Ben"}: Turn ${turn}.`,
      );
      await writeFile(file, turns.join("\n\n"));
      const env = stage.folders.env({ baseUrl, apiKey }, FAST);
      const args = ["--speaker", "Ann=sophie_en_zh", "--speaker", "Ben=kian_en_zh", "--file-name", "harbour"];
      const limits = ["--max-credits", "5000", "--output-format", format];
      const child = spawn(NODE, [...NODE_FLAGS, BIN, "narrate", file, ...args, ...limits], { env });
      let said = "";
      child.stderr.on("data", (chunk) => {
        said += chunk;
      });
      expect(await new Promise((resolve) => child.on("exit", resolve)), said).toBe(0);
      expect(said.match(new RegExp(words, "gm"))).toHaveLength(1);
      expect(existsSync(join(outputDir, `harbour.${format}`))).toBe(true);
    },
  );
});

describeWithBrowser("the playlist in a browser", () => {
  it("is followed by hls.js to its end", async (test) => {
    const { stage, server, id } = await begin(test, 8);
    const path = await waitForPlaylist(stage);
    const browser = await launch();
    test.onTestFinished(() => browser.close());
    const page = await browser.newPage();
    await page.route("http://files.test/**", async (route) => {
      const { pathname } = new URL(route.request().url());
      const headers = { "access-control-allow-origin": "*", "cache-control": "no-store" };
      if (pathname === "/") return await route.fulfill({ contentType: "text/html", body: "<audio></audio>" });
      const bytes = await readFile(join(stage.folders.outputDir, decodeURIComponent(pathname))).catch(
        () => null,
      );
      await (bytes === null ? route.fulfill({ status: 404 }) : route.fulfill({ headers, body: bytes }));
    });
    await page.goto("http://files.test/");
    await page.addScriptTag({ path: HLS });
    await page.evaluate(
      (address) => {
        const audio = document.querySelector("audio");
        const Hls = Reflect.get(globalThis, "Hls");
        const hls = new Hls();
        if (audio === null) throw new Error("no audio element");
        Object.assign(globalThis, { ended: false, startedAt: Number.NaN, hlsErrors: [] as string[] });
        hls.on("hlsError", (_: string, data: { fatal: boolean; details: string }) => {
          if (data.fatal) Reflect.get(globalThis, "hlsErrors").push(data.details);
        });
        audio.onplaying = () => {
          if (Number.isNaN(Reflect.get(globalThis, "startedAt")))
            Object.assign(globalThis, { startedAt: audio.currentTime });
          audio.playbackRate = 4;
        };
        audio.onended = () => Object.assign(globalThis, { ended: audio.currentTime });
        audio.muted = true;
        hls.loadSource(address);
        hls.attachMedia(audio);
        hls.on("hlsManifestParsed", () => void audio.play());
      },
      `http://files.test/${encodeURIComponent(path.split("/").at(-1) ?? "")}`,
    );
    await page.waitForFunction(() => !Number.isNaN(Reflect.get(globalThis, "startedAt")));
    stage.speech.held = /^$/;
    const { path: file } = await waitForEnd(server, id);
    await page.waitForFunction(() => Reflect.get(globalThis, "ended") !== false, null, { timeout: 100_000 });
    const heard = await page.evaluate(() => ({
      ended: Number(Reflect.get(globalThis, "ended")),
      startedAt: Number(Reflect.get(globalThis, "startedAt")),
      errors: Reflect.get(globalThis, "hlsErrors"),
    }));
    expect(heard.errors).toEqual([]);
    expect(heard.startedAt).toBeLessThan(1);
    expect(heard.ended).toBeCloseTo(decodeFile(file).length / 8000, 0);
    expect((await readRows(server, id)).every(({ status }) => status === "saved")).toBe(true);
  });
});
