/** Misbehaving hosts and hostile content: the player shows a sentence and the path, and never a dead page. */
import { expect, it, type TestContext } from "vitest";
import { z } from "zod";
import {
  type Answerer,
  type Chat,
  type ChatSettings,
  describeWithBrowser,
  InvalidMessageReply,
} from "./chat-host.ts";
import { HERTZ, PATH, saved, serving, tone } from "./made-up-sound.ts";
import { openPlayerSetup } from "./player-setup.ts";
import { messageOf, playButton, positionOf, startsSounding } from "./player-view.ts";

const BELOW = /The file is at the path below\.$/;
const never = (): Promise<never> => new Promise(() => undefined);

/** Long enough that the sound still plays when a busy machine checks. */
const SECONDS = 20;
/** Keeps the sounds small, because the player waits only ten seconds for each piece. */
const FEW_HERTZ = 8000;

describeWithBrowser("a host", () => {
  const setup = openPlayerSetup();
  const sound = tone(SECONDS, FEW_HERTZ);
  /** Long enough to be played in segments. */
  const long = tone(200, FEW_HERTZ);

  const chat = (test: TestContext, settings: Partial<ChatSettings>): Promise<Chat> =>
    setup.chat(test, { answer: never, ...settings });

  const tellsThePath = async ({ player, faults }: Chat, sentence: RegExp): Promise<void> => {
    await messageOf(player).getByText(sentence).waitFor();
    expect(await player.locator("#path").textContent()).toBe(`Saved as ${PATH}`);
    expect(await player.locator("#player").isVisible()).toBe(false);
    expect(faults).toEqual([]);
  };

  it.concurrent("that never answers the handshake: a sentence, and results are shown nevertheless", async (test) => {
    const opened = await chat(test, { hangs: true });
    await messageOf(opened.player)
      .getByText(/^The chat does not answer; the text/)
      .waitFor();
    const params = { isError: true, content: [{ type: "text", text: "not_found: nothing there" }] };
    await opened.post({ jsonrpc: "2.0", method: "ui/notifications/tool-result", params });
    await messageOf(opened.player).getByText("not_found: nothing there").waitFor();
  });

  it.concurrent("that stops answering after the first pieces: these play, then the sentence is shown", async (test) => {
    const hand = serving(long);
    let reads = 0;
    const opened = await chat(test, {
      answer: (method, params) => {
        reads += 1;
        return reads <= 4 ? hand(method, params) : never();
      },
    });
    await opened.result(saved(long.length, 200));
    await playButton(opened.player).click();
    await startsSounding(opened.player);
    await opened.player.getByRole("slider").press("End");
    await tellsThePath(opened, /^The chat does not answer\./);
  });

  const answering = (contents: unknown) => async () => JSON.parse(JSON.stringify({ contents }));
  it.concurrent.for<[string, Answerer, RegExp]>([
    [
      "refuses to read",
      () => Promise.reject(new InvalidMessageReply(-32601, "Method not found")),
      /^(?:MCP error -32601: )?Method not found The file is at the path below\.$/,
    ],
    [
      "never answers a read, for ten seconds",
      never,
      /^The chat does not answer\. The file is at the path below/,
    ],
    [
      "sends a file that has shrunk",
      serving(sound.subarray(0, 90_000)),
      /^The file was moved, deleted or changed\.$/,
    ],
    [
      "sends bytes that are not sound",
      serving(Buffer.alloc(sound.length, "no sound ")),
      /^The file cannot be read as sound\./,
    ],
    [
      "sends a head without sound",
      serving(Buffer.concat([sound.subarray(0, 20), Buffer.alloc(sound.length - 20)])),
      /cannot be read/,
    ],
    ["sends a megabyte for each piece", answering([{ blob: "A".repeat(1_400_000) }]), BELOW],
    ["sends no base64", answering([{ blob: "<b>" }]), BELOW],
    ["sends text in place of bytes", answering([{ text: "sound" }]), BELOW],
    ["sends no list", answering({ 0: { blob: "" } }), BELOW],
  ])("that %s: a sentence and the path are shown", async ([_name, answer, sentence], test) => {
    const opened = await chat(test, { answer });
    await opened.result(saved(sound.length, SECONDS));
    await tellsThePath(opened, sentence);
  });

  it.concurrent("that puts markup into every string: it is shown as text", async (test) => {
    const bad = '<img src=x onerror="document.title=1"><script>1</script>&amp;';
    const opened = await chat(test, {
      answer: async (method, params) => {
        if (method === "resources/read") return await serving(sound)(method, params);
        const rows = [1, 2].map((take) => ({
          task_id: `aud_${take}`,
          take,
          prompt_excerpt: bad,
          voice: bad,
          audio_path: bad,
        }));
        const isList = params["name"] === "list_tasks";
        const structuredContent = isList
          ? { tasks: rows }
          : saved(sound.length, SECONDS, { task_id: "aud_2", take: 2 }).structuredContent;
        const _meta = { requests: { aud_1: bad, aud_2: bad } };
        return { content: [{ type: "text", text: bad }], structuredContent, _meta };
      },
    });
    await opened.input({ prompt: bad });
    const audio = { path: `/${bad}.wav`, format: bad, sample_rate: HERTZ, size_bytes: sound.length };
    await opened.result(saved(sound.length, SECONDS, { message: bad, voice: bad, audio, next_step: bad }));
    await opened.player.getByRole("group", { name: "Takes" }).getByRole("button").first().waitFor();
    await playButton(opened.player).click();
    await startsSounding(opened.player);
    expect(await opened.player.locator("#path").textContent()).toBe(`Saved as /${bad}.wav`);
    expect(await opened.player.locator("img, main script").count()).toBe(0);
    await opened.result({ isError: true, content: [{ type: "text", text: bad }] });
    expect(opened.faults).toEqual([]);
  });

  it.concurrent("that sends results of any kind: none is an error, and the sound stays", async (test) => {
    const opened = await chat(test, { answer: serving(sound) });
    const malformedResults: unknown[] = [
      null,
      1,
      "x",
      [],
      { content: 7 },
      { structuredContent: [] },
      { structuredContent: { task_id: 5 } },
    ];
    const more = [
      { structuredContent: { task_id: "aud_1", audio: { path: 1 } } },
      { structuredContent: { narration_id: "nar_1", files: {} } },
    ];
    for (const params of [...malformedResults, ...more]) {
      await opened.post({ jsonrpc: "2.0", method: "ui/notifications/tool-result", params });
    }
    for (const message of [
      null,
      7,
      "hello",
      { jsonrpc: "2.0", id: 1, result: 5 },
      { jsonrpc: "2.0", method: "toString" },
    ]) {
      await opened.post(message);
    }
    await opened.result(saved(sound.length, SECONDS));
    await playButton(opened.player).click();
    await startsSounding(opened.player);
    await opened.result({
      content: [{ type: "text", text: "17 voices" }],
      structuredContent: { voices: [] },
    });
    await opened.player.getByRole("heading", { name: "harbour.wav" }).waitFor();
    await opened.player.getByRole("button", { name: "Pause" }).waitFor();
    expect(opened.faults).toEqual([]);
  });

  it.concurrent("that states a wrong length: the existing audio is played to its end", async (test) => {
    const opened = await chat(test, { answer: serving(sound) });
    await opened.result(saved(sound.length, 0.5));
    await playButton(opened.player).click();
    await startsSounding(opened.player);
    expect(await opened.player.getByRole("slider").getAttribute("aria-valuemax")).toBe(`${SECONDS}`);
    await opened.player.getByRole("slider").press("End");
    await playButton(opened.player).waitFor();
    expect(opened.faults).toEqual([]);
  });

  it.concurrent("that sends a long file with an impossible rate: it is not requested at once", async (test) => {
    const damagedAudio = Buffer.from(long);
    damagedAudio.writeUInt32LE(4_000_000_000, 28);
    const opened = await chat(test, { answer: serving(damagedAudio) });
    await opened.result(saved(damagedAudio.length, 200));
    await tellsThePath(opened, /^The file cannot be read as sound\./);
    expect(opened.hostRequests.filter(({ method }) => method === "resources/read")).toHaveLength(1);
  });

  it.concurrent("that reports what to check in a narration's file: the remark stays visible", async (test) => {
    const opened = await chat(test, { answer: serving(sound) });
    const files = [{ path: PATH, size_bytes: sound.length, duration_seconds: SECONDS }];
    const problems = [{ part: 3, code: "long", message: "Part 3 plays longer than its text." }];
    const message = "Saved. Part 3 plays longer than its text.";
    const narration = { narration_id: `nar_${"0".repeat(32)}`, status: "finished", message, files, problems };
    await opened.result({ content: [], structuredContent: { ...narration, parts: { total: 4, saved: 4 } } });
    await playButton(opened.player).click();
    await startsSounding(opened.player);
    expect(await messageOf(opened.player).textContent()).toBe(message);
  });

  it.concurrent("that lies about a narration that is being made: what can be played is played, as text is shown", async (test) => {
    const bad = "<img src=x onerror=alert(1)>";
    const row = (...cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
    const one = row("1", "saved", "1", "aud_1", "5", `${SECONDS}`, "0.000", "", bad, bad);
    const lies = [
      [one, row("2", "saved", "1", "aud_2", "5", "20", "-7", "", "", "before it begins")],
      [one, row("2", "saved", "1", "aud_2", "5", "1e308", "9e15", "9e99", "", "after all time"), one],
      [one, row("99999999999999999999", "running", "1", "", "", "", "~NaN", "1e300", bad, bad)],
      [one, row("2", "saved", "1", "../../etc", "5", "20", "~1.0", "", "", "inside the first")],
      ["no table at all"],
    ];
    let looks = 0;
    const hand = serving(sound);
    const opened = await chat(test, {
      answer: async (method, params) => {
        const uri = `${params["uri"]}`;
        if (/narrations\/[^/]*$/.test(uri)) {
          looks += 1;
          const text = `${bad}\n\nrunning. ${bad}\n\n${(lies[looks % lies.length] ?? []).join("\n")}`;
          return { contents: [{ uri, mimeType: "text/markdown", text }] };
        }
        // A tool that answers late, and with another narration.
        if (method === "tools/call") {
          await new Promise((resolve) => setTimeout(resolve, 300));
          return { content: [], structuredContent: { narration_id: `nar_${"1".repeat(32)}`, status: 7 } };
        }
        return await hand(method, params);
      },
    });
    const narration = { narration_id: `nar_${"0".repeat(32)}`, status: "running", message: bad };
    await opened.result({
      content: [],
      structuredContent: { ...narration, parts: { total: 2, saved: 1e9 } },
    });
    await playButton(opened.player).click();
    await startsSounding(opened.player);
    await messageOf(opened.player)
      .getByText(/It cannot be followed here/)
      .waitFor();
    expect(looks).toBeGreaterThanOrEqual(lies.length);
    await opened.player.getByRole("button", { name: "Pause" }).click();
    await playButton(opened.player).click();
    await startsSounding(opened.player);
    expect(await opened.player.locator("img").count()).toBe(0);
    expect(opened.faults).toEqual([]);
  });

  it.concurrent("that sends two results at once: the second is shown and played", async (test) => {
    let isHeld = true;
    const hand = serving(sound);
    const opened = await chat(test, {
      answer: async (method, params) => {
        if (isHeld) await new Promise((resolve) => setTimeout(resolve, 800));
        return await hand(method, params);
      },
    });
    await opened.result(saved(sound.length, SECONDS));
    isHeld = false;
    const audio = { path: "/second.wav", sample_rate: HERTZ, size_bytes: sound.length };
    await opened.result(saved(sound.length, SECONDS, { task_id: "aud_2", audio }));
    await playButton(opened.player).click();
    await startsSounding(opened.player);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    await opened.player.getByRole("heading", { name: "second.wav" }).waitFor();
    expect(await opened.player.locator("#path").textContent()).toBe("Saved as /second.wav");
    expect(await positionOf(opened.player)).toBeGreaterThan(0);
  });

  it.concurrent("that tears down during a read: nothing plays afterwards", async (test) => {
    const hand = serving(sound);
    let [answered, isAsked] = [false, false];
    const opened = await chat(test, {
      answer: async (method, params) => {
        isAsked = true;
        await new Promise((resolve) => setTimeout(resolve, 700));
        answered = true;
        return await hand(method, params);
      },
    });
    await opened.result(saved(sound.length, SECONDS));
    await test.expect.poll(() => isAsked).toBe(true);
    await opened.teardown();
    await test.expect.poll(() => answered).toBe(true);
    expect(await opened.player.locator("audio").count()).toBe(0);
    expect(opened.faults).toEqual([]);
  });

  it.concurrent("that is another window: its messages are ignored", async (test) => {
    const opened = await chat(test, { answer: serving(sound) });
    await opened.player.evaluate(async () => {
      const params = { isError: true, content: [{ type: "text", text: "from elsewhere" }] };
      window.postMessage({ jsonrpc: "2.0", method: "ui/notifications/tool-result", params }, "*");
      await new Promise((resolve) => setTimeout(resolve, 300));
    });
    expect(await messageOf(opened.player).textContent()).toBe("Waiting for the chat…");
    await opened.result({ isError: true, content: [{ type: "text", text: "from the chat" }] });
    await messageOf(opened.player).getByText("from the chat").waitFor();
  });

  it.concurrent("that sends colours: they are applied, except values that load something", async (test) => {
    const variables = {
      "--color-background-primary": "rgb(10, 20, 30)",
      "--color-text-primary": "url(http://elsewhere.test/x)",
      "--font-sans": "Georgia, serif",
    };
    const opened = await chat(test, {
      context: { theme: "dark", styles: { variables: variables as never } },
    });
    const style = await opened.player.evaluate(() => {
      const { backgroundColor, color, fontFamily, colorScheme } = getComputedStyle(document.body);
      return { backgroundColor, color, fontFamily, colorScheme };
    });
    expect(style).toMatchObject({
      backgroundColor: "rgb(10, 20, 30)",
      fontFamily: "Georgia, serif",
      colorScheme: "dark",
    });
    expect(style.color).toBe("rgb(241, 239, 234)");
    await opened.context({ theme: "light" });
    await test.expect
      .poll(() => opened.player.evaluate(() => document.documentElement.dataset["theme"]))
      .toBe("light");
    expect(opened.faults).toEqual([]);
  });

  it.concurrent("that reports a failure: the reason is shown, and nothing can be played", async (test) => {
    const opened = await chat(test, {});
    const { audio: _, ...failed } = z.looseObject({}).parse(saved(1, 1).structuredContent);
    const structuredContent = { ...failed, status: "failed", message: "The task failed. Cost 0 credits." };
    await opened.result({ content: [], structuredContent });
    await messageOf(opened.player).getByText("The task failed. Cost 0 credits.").waitFor();
    expect(await opened.player.getByRole("button").count()).toBe(0);
  });
});
