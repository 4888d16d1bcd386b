/**
 * The home folder is missing, relative or empty. This is a fault only if a default or a `~` needs the home folder. The
 * server never creates folders in the working directory instead of the home folder.
 */
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readConfig } from "../../src/config/config.ts";
import { RawServer } from "../faults/raw-server.ts";
import { scratchFolder } from "../support/scratch.ts";
import { errorOf } from "../support/tool-result.ts";
import { doctor, preload, runBin } from "./run-bin.ts";

const PATH = process.env["PATH"] ?? "";
const nodeArgs = preload("other-machine");
const NO_HOME = { PATH, TEST_NO_HOME: "1" };
const ADDRESS = { AUDIO_BASE_URL: "http://127.0.0.1:9", AUDIO_API_KEY: "k" };

describe("without a home folder", () => {
  it.each(["--version", "--help"])("%s works", async (option) => {
    expect(await runBin([option], NO_HOME, { nodeArgs })).toMatchObject({ status: 0, stderr: "" });
  });

  it("a user without an entry is served, and learns which settings are missing", async () => {
    const cwd = scratchFolder();
    const server = await RawServer.start({ ...NO_HOME, ...ADDRESS }, { nodeArgs, cwd });
    const outcome = await server.call("generate_audio", { prompt: "No home" });
    expect(errorOf(outcome).code).toBe("configuration_error");
    expect(outcome.content[0]?.text).toMatch(
      /AUDIO_OUTPUT_DIR is not set.*no home folder.*AUDIO_STATE_DIR is not set/,
    );
    expect((await server.call("list_voices", {})).isError).not.toBe(true);
    expect(await server.end()).toMatchObject({ code: 0 });
    expect(server.stderr).not.toMatch(/Error|\n +at /);
    expect(readdirSync(cwd)).toEqual([]);
  });

  it("no fault is reported if every folder is set", async () => {
    const folder = scratchFolder();
    const env = {
      ...NO_HOME,
      ...ADDRESS,
      AUDIO_OUTPUT_DIR: join(folder, "out"),
      AUDIO_STATE_DIR: join(folder, "state"),
    };
    const checks = await doctor(env, { nodeArgs });
    expect(checks["settings"]).toMatchObject({ ok: true });
    expect(checks["output folder"]).toMatchObject({ ok: true });
    expect(checks["store"]).toMatchObject({ ok: true });
  });

  it("doctor names both folders, and `~` for what it is", async () => {
    const checks = await doctor({ ...NO_HOME, ...ADDRESS, AUDIO_OUTPUT_DIR: "~/audio" }, { nodeArgs });
    expect(checks["setting AUDIO_OUTPUT_DIR"]?.detail).toContain("nothing to take for ~");
    expect(checks["setting AUDIO_STATE_DIR"]?.detail).toContain("no home folder");
    expect(checks["output folder"]).toMatchObject({ ok: false, fix: "Fix the settings first." });
  });
});

it("a home folder that is not an absolute path is a fault that names HOME, and no folder under the current one", async () => {
  const cwd = scratchFolder();
  mkdirSync(join(cwd, "rel"));
  const env = { PATH, HOME: "rel", ...ADDRESS };
  const checks = await doctor(env, { cwd });
  expect(checks["setting AUDIO_STATE_DIR"]?.detail).toContain('HOME is "rel", which is not an absolute path');
  expect(checks["setting AUDIO_OUTPUT_DIR"]?.detail).toContain('HOME is "rel"');
  expect((await runBin(["tasks"], env, { cwd })).stderr).toContain("HOME");
  expect(readdirSync(cwd)).toEqual(["rel"]);
  expect(readdirSync(join(cwd, "rel"))).toEqual([]);
});

it("a home folder that is not an absolute path is looked up if the variable is empty, which counts as unset", async () => {
  const cwd = scratchFolder();
  const { status } = await runBin(
    ["--version"],
    { PATH, HOME: "", AUDIO_STATE_DIR: join(cwd, "s") },
    { cwd },
  );
  expect(status).toBe(0);
  const { issues } = readConfig({ ...ADDRESS, LOCALAPPDATA: "" }, "win32", "C:\\Users\\someone");
  expect(issues).toEqual([]);
});

describe("on Windows", () => {
  const read = (env: Record<string, string>, home: string | null = "C:\\Users\\someone") =>
    readConfig({ ...ADDRESS, ...env }, "win32", home);

  it.each(["\\audio", "/audio", "C:audio", "audio", ".\\audio", "\\\\server"])(
    "%s lacks a drive or a server",
    (path) => {
      const { issues } = read({ AUDIO_OUTPUT_DIR: path });
      expect(issues).toMatchObject([{ variable: "AUDIO_OUTPUT_DIR" }]);
      expect(issues[0]?.message).toContain("not a path with a drive or a server");
    },
  );

  it.each(["C:\\audio", "c:/audio", "\\\\server\\share\\audio", "\\\\?\\C:\\audio", "~\\audio"])(
    "%s is accepted",
    (path) => {
      expect(read({ AUDIO_OUTPUT_DIR: path }).issues).toEqual([]);
    },
  );

  it.each([
    ["C:\\audio\\dotted.", "C:\\audio\\dotted"],
    ["C:\\audio. \\x . ", "C:\\audio\\x"],
    ["C:\\..\\.hidden", "C:\\..\\.hidden"],
    ["\\\\?\\C:\\dotted.", "\\\\?\\C:\\dotted."],
  ])("%s is the same folder as in other Windows programs", (path, folder) => {
    expect(read({ AUDIO_OUTPUT_DIR: path }).outputDir).toBe(folder);
  });

  it("a relative LOCALAPPDATA is a fault that names it", () => {
    expect(read({ LOCALAPPDATA: "rel" }).issues).toMatchObject([
      { variable: "AUDIO_STATE_DIR", message: expect.stringContaining('LOCALAPPDATA is "rel"') },
    ]);
  });

  it("the built bin says so, too", async () => {
    const env = { PATH, ...ADDRESS, TEST_PLATFORM: "win32", AUDIO_OUTPUT_DIR: "\\audio", HOME: "/" };
    const { stdout } = await runBin(["doctor", "--json"], env, { nodeArgs, cwd: scratchFolder() });
    expect(stdout).toMatch(/AUDIO_OUTPUT_DIR is .{5,20}, which is not a path with a drive or a server/);
  });
});
