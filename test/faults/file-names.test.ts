/** File names that an assistant chooses: refused by a rule, or used exactly. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { errorOf, generate, resultTextOf } from "../support/tool-result.ts";
import { shareFaultSetup } from "./fault-setup.ts";

const shared = shareFaultSetup();

describe("a file name that no file may have", () => {
  const NAMES = [
    "../x",
    "/etc/passwd",
    "a/b",
    "a\\b",
    "C:\\x",
    ".bashrc",
    "x:evil",
    "CON.mp3",
    "nul",
    "com1.wav",
    "LPT\u00b9",
    "trailing.",
    "trailing ",
    "x".repeat(300),
    " ",
    ".mp3",
    "a\u0000b",
    "a\nb",
    "\u202egpj.exe",
    "zero\u200bwidth",
    "a\ud800",
    "what?",
    "a|b",
    "a*b",
    "<a>",
    'q"q',
    "~/x/y",
    "%2e%2e/x",
  ];
  it.each(NAMES)("such as %j is refused with its rule, and nothing is sent or written", async (name) => {
    const setup = shared();
    for (const [tool, args] of [
      ["generate_audio", { prompt: "Named" }],
      ["download_audio", { task_id: "some-task" }],
    ] as const) {
      const outcome = await setup.server.call(tool, { ...args, file_name: name });
      expect(errorOf(outcome)).toMatchObject({ code: "invalid_file_name", http_status: null });
      expect(resultTextOf(outcome)).toMatch(/The file name .* cannot be used: it must/);
    }
    expect(setup.service.exchanges).toEqual([]);
    expect(await setup.testFolders.outputNames()).toEqual([]);
  });
});

it("an ordinary file name is kept unchanged in another script, with dots, with another extension or an emoji", async () => {
  const setup = shared();
  for (const name of [
    "序章 第1节",
    "v1.2",
    "track.flac",
    "🎧 mix",
    "CONcert",
    "a".repeat(120),
    "UPPER.MP3",
  ]) {
    const task = await generate(setup.server, { prompt: `Named ${name}`, file_name: name });
    const expected = /\.mp3$/i.test(name) ? `${name.slice(0, -4)}.mp3` : `${name}.mp3`;
    expect(task.audio?.path).toBe(join(setup.testFolders.outputDir, expected));
  }
});
