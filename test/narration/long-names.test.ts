/** File names as long as a file system allows: additions of the server shorten them, and nothing paid is lost. */
import { readdir } from "node:fs/promises";
import { basename } from "node:path";
import { describe, expect, it } from "vitest";
import { preload } from "../platforms/run-bin.ts";
import { startBinClient } from "../support/tool-client.ts";
import { errorOf, generate } from "../support/tool-result.ts";
import { openNarratorEach, paragraph } from "./narrator.ts";

const narrator = openNarratorEach({}, {}, startBinClient);

/** 246 bytes of UTF-8: with an extension, nearly the maximum of a file system. */
const LONG = "你".repeat(82);
const HEADING = "第一章".repeat(14);
const TEXT = `# ${HEADING}一\n\n${paragraph("One")}\n\n# ${HEADING}二\n\n${paragraph("Two")}`;

const isMade = (path: string | undefined): boolean => basename(path ?? "").startsWith("你".repeat(40));

it("a name that is too long for the file system is refused before anything is sent", async () => {
  // In an encrypted folder, a file name may have at most 143 bytes.
  const faults = ["lstat", "link"].map((call) => ({
    call: `promises.${call}`,
    code: "ENAMETOOLONG",
    path: ".chapters-999.json",
  }));
  await narrator.restart({
    TEST_FS_FAULTS: JSON.stringify(faults),
    NODE_OPTIONS: preload("fs-faults").join(" "),
  });
  const call = { text: TEXT, file_name: "story", max_credits: 1000 };
  const refused = await narrator.client.call("narrate", call);
  expect(errorOf(refused)).toMatchObject({ code: "invalid_file_name" });
  expect(narrator.service.count("create")).toBe(0);
});

describe("a name of 246 bytes", () => {
  it.each(["one", "chapters"])("leaves room for captions, chapters, and files: %s", async (files) => {
    const call = { text: TEXT, file_name: LONG, files, max_credits: 1000 };
    const done = await narrator.narrate(call);
    expect(done).toMatchObject({ status: "finished", problems: [] });
    expect(done.files.map(({ path }) => isMade(path))).toEqual(files === "one" ? [true] : [true, true]);
    expect(done.files.every(({ captions_path }) => isMade(captions_path))).toBe(true);
    const names = await readdir(narrator.testFolders.outputDir);
    expect(names.filter((name) => name.endsWith(".json")).length).toBe(files === "one" ? 1 : 0);
    expect((await narrator.narrate(call)).files).toEqual(done.files);
  });

  it("leaves room for the word that marks an incomplete file", async () => {
    narrator.service.intercept = ({ kind, ordinal }, response) => {
      if (kind !== "create" || ordinal < 3) return false;
      response.writeHead(402, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { code: "insufficient_credits", message: "no credits left" } }));
      return true;
    };
    const call = { text: TEXT, file_name: LONG, max_credits: 1000 };
    const stopped = await narrator.narrate(call);
    expect(basename(stopped.files[0]?.path ?? "")).toMatch(/^你+ \(incomplete\)\.pcm$/);
  });

  it("leaves room for a number, for another take and for another text", async () => {
    const call = { prompt: "The first text", file_name: LONG };
    await narrator.client.call("generate_audio", call);
    const others = [
      { ...call, take: 2 },
      { ...call, prompt: "The second text" },
    ];
    for (const [index, other] of others.entries()) {
      const { audio, message } = await generate(narrator.client, other);
      expect(basename(audio?.path ?? "")).toBe(`${LONG}-${index + 2}.mp3`);
      expect(message).toContain("a number was added");
    }
  });
});
