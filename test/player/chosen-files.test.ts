/**
 * The player plays what was chosen and says what is happening: files, takes, a running narration, hosts that pass on
 * only text.
 */
import { unlinkSync } from "node:fs";
import { basename } from "node:path";
import type { CallToolResult } from "@modelcontextprotocol/client";
import { expect, it, type TestContext } from "vitest";
import { z } from "zod";
import { type Answerer, type Chat, describeWithBrowser } from "./chat-host.ts";
import { HERTZ, PATH, saved, serving, tone } from "./made-up-sound.ts";
import { openPlayerSetup } from "./player-setup.ts";
import { drawnColours, isRead, messageOf, playButton, positionOf, startsSounding } from "./player-view.ts";

const pathOf = (made: CallToolResult): string =>
  z.object({ audio: z.object({ path: z.string() }) }).parse(made.structuredContent).audio.path;

const uriOf = (params: Record<string, unknown>): string => String(params["uri"]);

/** Returns a gate, which holds answers back until it is opened. */
function gate(): { readonly untilOpened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { untilOpened: promise, open: resolve };
}

const NARRATION_ID = `nar_${"a".repeat(32)}`;

const narrationResult = (status: string, more: Record<string, unknown> = {}): CallToolResult => ({
  content: [],
  structuredContent: {
    narration_id: NARRATION_ID,
    status,
    message: `Told: ${status}.`,
    parts: { total: 6, saved: 2 },
    ...more,
  },
});

/** Returns a table of six parts of two seconds, of which the first are saved. */
function tableOf(status: string, savedParts: number) {
  const rows = [1, 2, 3, 4, 5, 6].map((part) =>
    part <= savedParts
      ? `| ${part} | saved | 1 | aud_part${part} | 10 | 2 | ${2 * part - 2}.000 | | | part ${part} |`
      : `| ${part} | running | 1 | | | | ~${2 * part - 2}.000 | 9 | | part ${part} |`,
  );
  return { contents: [{ text: `Title\n\n${status}. By the table: ${status}.\n\n${rows.join("\n")}\n` }] };
}

const captionsOf = (...cues: readonly string[]) => {
  const blocks = cues.map((cue, index) => `00:0${index}.000 --> 00:0${index + 1}.000\n${cue}`);
  return { contents: [{ blob: Buffer.from(`WEBVTT\n\n${blocks.join("\n\n")}`).toString("base64") }] };
};

describeWithBrowser("the player", () => {
  const setup = openPlayerSetup();
  const chat = (test: TestContext, answer: Answerer): Promise<Chat> => setup.chat(test, { answer });

  const calls = ({ hostRequests }: Chat): number =>
    hostRequests.filter(({ method }) => method === "tools/call").length;

  it.concurrent("queries a host that passes only texts a few times, and then shows the text", async (test) => {
    const words = {
      content: [{ type: "text" as const, text: `Saved ${PATH} task_id aud_1\nNext: Tell the user.` }],
    };
    const opened = await chat(test, async () => words);
    await opened.result(words);
    await messageOf(opened.player)
      .getByText(`Saved ${PATH} task_id aud_1 It cannot be followed here.`)
      .waitFor();
    expect(await messageOf(opened.player).textContent()).not.toContain("Next:");
    expect(calls(opened)).toBe(3);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(calls(opened)).toBe(3);
  });

  it.concurrent.for([
    [`Saved /a/About nar_${"9".repeat(32)}, task_id aud_2.mp3 (mp3). task_id aud_1`, { task_id: "aud_1" }],
    [
      `nar_${"1".repeat(32)}: "task_id aud_2 and nar_${"9".repeat(32)}: a title" is running.`,
      { narration_id: `nar_${"1".repeat(32)}` },
    ],
  ] as const)("follows what a text is about, not what it quotes: %s", async ([text, asked], test) => {
    const words = { content: [{ type: "text" as const, text }] };
    const opened = await chat(test, async () => words);
    await opened.result(words);
    const { expect: expects } = test;
    await expects.poll(() => calls(opened), { timeout: 30_000 }).toBeGreaterThan(0);
    const params = opened.hostRequests.find(({ method }) => method === "tools/call")?.params;
    expects(params).toMatchObject({ arguments: asked });
  });

  it.concurrent("says of a very long narration that only its first parts are heard before it is joined", async (test) => {
    const rows = Array.from(
      { length: 2001 },
      (_, index) => `| ${index + 1} | not started | 1 | | | | ~${index}.000 | 9 | | Words. |`,
    );
    const text = `The Book\n\nrunning. It goes on.\n\n${rows.join("\n")}\n`;
    const opened = await chat(test, async () => ({ contents: [{ text }] }));
    const structuredContent = {
      narration_id: `nar_${"2".repeat(32)}`,
      status: "running",
      message: "Running.",
      parts: { total: 2001, saved: 0 },
    };
    await opened.result({ content: [], structuredContent });
    await messageOf(opened.player).getByText("the first 2000 parts are played").waitFor();
    expect(await opened.player.locator("#count").textContent()).toBe("0 of 2001 parts");
    expect(calls(opened)).toBe(0);
  });

  it.concurrent("plays, names and saves the chapter that was chosen last, not one that arrives late", async (test) => {
    const files = [tone(4), tone(6), tone(8)];
    const { untilOpened, open } = gate();
    const opened = await chat(test, async (method, params) => {
      const [, number = "1", companion] = /files\/(\d)(\/\w+)?/.exec(uriOf(params)) ?? [];
      if (companion !== undefined || method !== "resources/read") return {};
      if (number === "2") await untilOpened;
      return await serving(files[Number(number) - 1] ?? Buffer.alloc(0))(method, params);
    });
    const rows = files.map((file, index) => ({
      path: `/book/0${index + 1}.wav`,
      size_bytes: file.length,
      chapter: `Chapter ${index + 1}`,
    }));
    const narration = {
      narration_id: `nar_${"0".repeat(32)}`,
      status: "finished",
      message: "Saved.",
      files: rows,
    };
    await opened.result({ content: [], structuredContent: narration, _meta: { title: "The Book" } });
    const { player } = opened;
    await playButton(player).waitFor();
    await player.getByRole("heading", { name: "The Book: Chapter 1" }).waitFor();
    await player.getByRole("button", { name: "Chapter 2" }).click();
    await player.getByRole("button", { name: "Chapter 3" }).click();
    const slider = player.getByRole("slider");
    await test.expect.poll(() => slider.getAttribute("aria-valuemax")).toBe("8");
    open();
    // The player handles the late answer before this click, so the effect of the click shows that the answer was
    // handled.
    await player.getByRole("button", { name: "Save as" }).click();
    await test.expect
      .poll(() => opened.hostRequests.some(({ method }) => method === "ui/download-file"))
      .toBe(true);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await slider.getAttribute("aria-valuemax")).toBe("8");
    await player.getByRole("heading", { name: "The Book: Chapter 3" }).waitFor();
    expect(await player.locator("#path").textContent()).toBe("Saved as /book/03.wav");
    const handed = JSON.stringify(
      opened.hostRequests.find(({ method }) => method === "ui/download-file")?.params,
    );
    expect(handed).toContain("file:///03.wav");
  });

  it.concurrent("plays the take that was chosen last, not one that arrives late", async (test) => {
    const sounds = [tone(4), tone(50)];
    const ofTake = (take: number): CallToolResult =>
      saved(sounds[take - 1]?.length ?? 0, 4, {
        task_id: `aud_${take}`,
        take,
        audio: { path: `/take${take}.wav`, sample_rate: HERTZ, size_bytes: sounds[take - 1]?.length },
      });
    const { untilOpened, open } = gate();
    const opened = await chat(test, async (method, params) => {
      if (method !== "resources/read") {
        const tasks = [1, 2].map((take) => ({
          task_id: `aud_${take}`,
          take,
          audio_path: `/take${take}.wav`,
          prompt_excerpt: "a",
          voice: "v",
        }));
        const list = {
          content: [],
          structuredContent: { tasks },
          _meta: { requests: { aud_1: "r", aud_2: "r" } },
        };
        return params["name"] === "list_tasks" ? list : ofTake(2);
      }
      const isSecond = uriOf(params).includes("aud_2");
      if (isSecond) await untilOpened;
      return await serving(sounds[isSecond ? 1 : 0] ?? Buffer.alloc(0))(method, params);
    });
    await opened.result(ofTake(1));
    const { player } = opened;
    const takes = player.getByRole("group", { name: "Takes" });
    await takes.getByRole("button", { name: /Take 2/ }).click();
    await takes.getByRole("button", { name: /Take 1/ }).click();
    open();
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(await player.getByRole("slider").getAttribute("aria-valuemax")).toBe("4");
    expect(await player.locator("#path").textContent()).toBe("Saved as /take1.wav");
    await player.getByRole("heading", { name: "take1.wav" }).waitFor();
  });

  it.concurrent("shows a newer result, not a table, a part or captions of an earlier narration that arrive late", async (test) => {
    const sound = tone(20, 8000);
    const { untilOpened, open } = gate();
    let tables = 0;
    let captions = 0;
    const opened = await chat(test, async (method, params) => {
      const uri = uriOf(params);
      if (method !== "resources/read") return {};
      if (uri.includes("/captions")) {
        captions += 1;
        return captionsOf("Words of the earlier narration.");
      }
      if (uri.includes("aud_part")) {
        await untilOpened;
        return { contents: [{ mimeType: "audio/wav", blob: Buffer.from("no sound").toString("base64") }] };
      }
      if (!uri.startsWith("audio://narrations/")) return await serving(sound)(method, params);
      tables += 1;
      if (tables > 1) await untilOpened;
      return tableOf("running", 2);
    });
    const { player } = opened;
    await opened.result(narrationResult("running"));
    await test.expect.poll(() => tables).toBe(2);
    await opened.result(saved(sound.length, 20));
    await isRead(player);
    open();
    await test.expect.poll(() => captions).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(await messageOf(player).textContent()).toBe("");
    expect(await player.locator("#parts").isVisible()).toBe(false);
    expect(await player.locator("#lines").isVisible()).toBe(false);
    expect(await player.getByRole("slider").getAttribute("aria-valuemax")).toBe("20");
    expect(opened.faults).toEqual([]);
  });

  it.concurrent("says that a narration was stopped, not what a table says that was asked for before", async (test) => {
    const { untilOpened, open } = gate();
    let tables = 0;
    const opened = await chat(test, async (method, params) => {
      if (method === "tools/call") return narrationResult("stopped");
      if (uriOf(params).includes("?offset")) return await serving(tone(2, 8000))(method, params);
      tables += 1;
      if (tables === 2) await untilOpened;
      return tableOf(tables > 2 ? "stopped" : "running", 2);
    });
    const { player } = opened;
    await opened.result(narrationResult("running"));
    await messageOf(player).getByText("By the table: running.").waitFor();
    await test.expect.poll(() => tables).toBe(2);
    await player.getByRole("button", { name: "Stop" }).click();
    await messageOf(player).getByText("Told: stopped.").waitFor();
    open();
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(await messageOf(player).textContent()).toContain("Told: stopped.");
  });

  it.concurrent("keeps the captions of the joined file while the parts of its narration are heard to the end", async (test) => {
    const part = tone(2, 8000);
    const file = tone(12, 8000);
    let tables = 0;
    const opened = await chat(test, async (method, params) => {
      const uri = uriOf(params);
      const files = [{ path: "/whole.wav", size_bytes: file.length, duration_seconds: 12 }];
      if (method === "tools/call") return narrationResult("finished", { files });
      if (uri.includes("/parts/")) return captionsOf("A sentence of a part.");
      if (uri.includes("/captions")) return captionsOf("The beginning.", "The middle.", "The end.");
      if (uri.includes("/chapters")) return {};
      if (uri.includes("?offset"))
        return await serving(uri.includes("/files/") ? file : part)(method, params);
      tables += 1;
      return tables === 1 ? tableOf("running", 2) : tableOf("finished", 6);
    });
    const { player } = opened;
    await opened.result(narrationResult("running"));
    await playButton(player).click();
    await player.getByText("The end.").waitFor({ state: "attached" });
    await test.expect.poll(() => positionOf(player), { timeout: 30_000 }).toBeGreaterThanOrEqual(10);
    expect(opened.hostRequests.some(({ params }) => uriOf(params).includes("aud_part6"))).toBe(true);
    expect(await player.locator("#lines li bdi").allTextContents()).toEqual([
      "The beginning.",
      "The middle.",
      "The end.",
    ]);
  });

  it.concurrent("shows no waveform of an earlier sound with a narration that is being made", async (test) => {
    const sound = tone(4, 8000);
    const opened = await chat(test, async (method, params) => {
      if (uriOf(params).startsWith("audio://narrations/")) return tableOf("running", 0);
      return await serving(sound)(method, params);
    });
    const { player } = opened;
    await opened.result(saved(sound.length, 4));
    await isRead(player);
    await test.expect.poll(() => drawnColours(player)).toBe(1);
    await opened.result(narrationResult("running"));
    await messageOf(player).getByText("By the table: running.").waitFor();
    expect(await drawnColours(player)).toBe(0);
  });

  it.concurrent("can stop a narration while the chat has not answered that an earlier one is stopped", async (test) => {
    const opened = await chat(test, (method) =>
      method === "tools/call" ? new Promise(() => undefined) : Promise.resolve(tableOf("running", 0)),
    );
    const stopButton = opened.player.getByRole("button", { name: "Stop" });
    await opened.result(narrationResult("running"));
    await stopButton.click();
    expect(await stopButton.isEnabled()).toBe(false);
    await opened.result(narrationResult("running", { narration_id: `nar_${"b".repeat(32)}` }));
    await test.expect.poll(() => stopButton.isEnabled(), { timeout: 4000 }).toBe(true);
  });

  it.concurrent("updates the status of a narration at each query, and shows that it was stopped elsewhere", async (test) => {
    const id = `nar_${"1".repeat(32)}`;
    let pollCount = 0;
    const taskWith = (status: string, message: string): CallToolResult => ({
      content: [],
      structuredContent: {
        narration_id: id,
        status,
        message,
        parts: { total: 3, saved: pollCount },
        files: [],
      },
    });
    const opened = await chat(test, async (method) => {
      if (method === "tools/call") return taskWith("stopped", "Stopped: 1 of 3 parts saved.");
      pollCount += 1;
      const state = pollCount < 2 ? `running. Running: ${pollCount} of 3 parts saved.` : "stopped. Stopped.";
      const row = "| 1 | saved | 1 | a | 1 | 1 |  | hello |\n| 2 | not started | 1 |  |  |  |  | world |";
      return {
        contents: [
          { uri: "audio://x", text: `How I kept running. A memoir: running. x\n\n${state}\n\n${row}\n` },
        ],
      };
    });
    await opened.result(taskWith("running", "Running: 0 of 3 parts saved."));
    await messageOf(opened.player).getByText("Running: 1 of 3 parts saved.").waitFor();
    await messageOf(opened.player).getByText("Stopped: 1 of 3 parts saved.").waitFor();
    expect(await opened.player.locator("#making").isVisible()).toBe(false);
  });

  it.concurrent("follows a task that gets its id only when it is sent", async (test) => {
    const sound = tone(4);
    const opened = await chat(test, async (method, params) =>
      method === "tools/call" ? saved(sound.length, 4) : await serving(sound)(method, params),
    );
    const waiting = { task_id: "local_0123", status: "waiting", message: "Not sent yet." };
    await opened.result({ content: [], structuredContent: waiting });
    await playButton(opened.player).waitFor();
    expect(await opened.player.locator("#path").textContent()).toBe(`Saved as ${PATH}`);
  });

  it.concurrent("says that a file is gone, and offers to have it fetched", async (test) => {
    const createResult = await setup.server.call("generate_audio", { prompt: "To be removed by its owner." });
    unlinkSync(pathOf(createResult));
    const opened = await chat(test, setup.server.answer);
    await opened.result(createResult);
    await messageOf(opened.player)
      .getByText(/^The file was moved, deleted or changed\.$/)
      .waitFor();
    expect(await opened.player.locator("#path").textContent()).toContain(basename(pathOf(createResult)));
    await opened.player.getByRole("button", { name: "Fetch the file" }).click();
    await messageOf(opened.player).getByText("Asked in the chat.").waitFor();
    const message = opened.hostRequests.find(({ method }) => method === "ui/message");
    expect(JSON.stringify(message?.params)).toMatch(/task [\w-]+ with download_audio; it costs nothing/);
  });

  it.concurrent("does not list a request as a take because its text begins alike", async (test) => {
    const beginning =
      "In a calm, warm voice, slowly, as if reading to a child at bedtime, please read this: ";
    const first = await setup.server.call("generate_audio", { prompt: `${beginning}The wolf.` });
    await setup.server.call("generate_audio", { prompt: `${beginning}The wolf.`, take: 2 });
    await setup.server.call("generate_audio", {
      prompt: `${beginning}An invoice of the tax office.`,
      take: 3,
    });
    const opened = await chat(test, setup.server.answer);
    await opened.result(first);
    const takes = opened.player.getByRole("group", { name: "Takes" }).getByRole("button");
    await takes.first().waitFor();
    expect(await takes.allTextContents()).toEqual([
      expect.stringMatching(/^Take 1/),
      expect.stringMatching(/^Take 2/),
    ]);
  });

  it.concurrent("continues to play if the same result arrives again, seeks by no other button, shows no hidden speakers", async (test) => {
    const sound = tone(40);
    const opened = await chat(test, serving(sound));
    const { player, page } = opened;
    const audio = { path: "/home/\u061cme.wav", sample_rate: HERTZ, size_bytes: sound.length };
    await opened.result(saved(sound.length, 40, { audio }));
    await playButton(player).click();
    await startsSounding(player);
    await opened.result(saved(sound.length, 40, { audio }));
    const box = await player.getByRole("slider").boundingBox();
    await page.mouse.click((box?.x ?? 0) + (box?.width ?? 0) * 0.9, (box?.y ?? 0) + 10, { button: "right" });
    await new Promise((resolve) => setTimeout(resolve, 300));
    await player.getByRole("button", { name: "Pause" }).waitFor();
    expect(await positionOf(player)).toBeLessThan(33);
    expect(await player.getByRole("heading").textContent()).toBe("me.wav");
    expect(opened.faults).toEqual([]);
  });
});
