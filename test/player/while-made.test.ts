/** A narration that is heard while it is made: from its first part on, without gaps, and on into the joined file. */
import type { Browser, Frame } from "playwright-core";
import { afterAll, beforeAll, expect, it, type TestContext } from "vitest";
import { killHard } from "../support/processes.ts";
import {
  type Answerer,
  type ChatSettings,
  DEFAULT_POLICY,
  describeWithBrowser,
  launch,
  NO_MEDIA,
  openChat,
} from "./chat-host.ts";
import {
  beginDialogue,
  openStage,
  readRows,
  type StagedRow,
  waitForEnd,
  waitForSaved,
} from "./narration-stage.ts";
import { messageOf, playButton, positionOf, startsSounding } from "./player-view.ts";
import {
  decodeFile,
  findStretch,
  HERTZ,
  listSounds,
  measureSilences,
  recordSound,
  type Sound,
  takeRecording,
} from "./recording.ts";
import type { ServerUnderTest } from "./server-under-test.ts";

/** The longest gap at the joins that nobody notices. */
const MAX_GAP_SECONDS = 0.05;

/**
 * Returns how much later each part is in a recording than in the joined file.
 *
 * @param around where the first part is in the recording, and how far on both sides, in seconds
 */
function measureOffsets(
  recording: Sound,
  file: Sound,
  rows: readonly StagedRow[],
  around: readonly [seconds: number, range: number] = [10, 10],
): number[] {
  const offsets: number[] = [];
  for (const { startSeconds } of rows) {
    const from = startSeconds + 0.2;
    const last = offsets.at(-1);
    const where = last === undefined ? around : ([last + from, 0.5] as const);
    const { seconds, likeness } = findStretch(recording, file, from, where);
    expect(likeness, `the part at ${startSeconds} s is heard`).toBeGreaterThan(0.9);
    offsets.push(seconds - from);
  }
  return offsets;
}

/** Returns how much longer each pause between two parts is than in the joined file. */
function measureGaps(...measured: Parameters<typeof measureOffsets>): number[] {
  const offsets = measureOffsets(...measured);
  return offsets.slice(1).map((offset, index) => offset - (offsets[index] ?? 0));
}

const longestOf = (gaps: readonly number[]): number => Math.max(...gaps.map(Math.abs));

/** Expects gaps that nobody hears, and says how long they are. */
function expectUnheard(what: string, gaps: readonly number[]): void {
  expect(gaps.length).toBeGreaterThan(0);
  process.stdout.write(`${what}: longest gap ${(longestOf(gaps) * 1000).toFixed(1)} ms\n`);
  expect(longestOf(gaps), what).toBeLessThan(MAX_GAP_SECONDS);
}

/** Both policies of hosts: with audio elements, and without. */
const POLICIES = [
  ["with elements", DEFAULT_POLICY],
  ["without elements", NO_MEDIA],
] as const;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describeWithBrowser("a narration that is being made", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser?.close());

  async function open(test: TestContext, server: ServerUnderTest, settings: Partial<ChatSettings> = {}) {
    const chat = await openChat(browser, { html: server.html, answer: server.answer, ...settings });
    test.onTestFinished(() => chat.close());
    await chat.player.evaluate(recordSound);
    return chat;
  }

  /** Opens a window in a host of each policy. */
  const openBoth = (test: TestContext, server: ServerUnderTest) =>
    Promise.all(
      POLICIES.map(async ([name, policy]) => ({ name, ...(await open(test, server, { policy })) })),
    );

  const hears = (player: Frame, seconds: number): Promise<void> =>
    expect.poll(() => positionOf(player), { timeout: 220_000 }).toBeGreaterThanOrEqual(seconds);

  /** Waits until the last of the parts is heard. */
  const hearsLast = async (player: Frame, rows: readonly StagedRow[]): Promise<void> => {
    await hears(player, rows.at(-1)?.startSeconds ?? Number.NaN);
    await sleep(1300);
  };

  const partButton = (player: Frame, turn: number) =>
    player.getByRole("list", { name: "Parts" }).getByRole("button", { name: new RegExp(`Turn ${turn}\\.`) });

  it("is heard from its first part on without a gap, in both kinds of hosts", async (test) => {
    const stage = await openStage(test);
    const server = await stage.startServer();
    const [windows, { result, id }] = await Promise.all([openBoth(test, server), beginDialogue(server, 24)]);
    const begunAt = Date.now();
    const saved = waitForSaved(server, id, 1).then(() => Date.now());
    const heardAt = windows.map(async ({ player, result: show }) => {
      await show(result);
      await playButton(player).click();
      await startsSounding(player);
      return Date.now();
    });
    const [savedAt, ...startedAt] = await Promise.all([saved, ...heardAt]);
    const ended = await waitForEnd(server, id);
    expect(ended.status).toBe("finished");
    const madeMs = Date.now() - begunAt;
    const rows = await readRows(server, id);
    const file = decodeFile(ended.path);
    const seconds = file.length / HERTZ;
    process.stdout.write(
      `${rows.length} parts, ${Math.round(seconds)} s, made ${((1000 * seconds) / madeMs).toFixed(1)} times faster; first sound ${startedAt.map((at) => at - savedAt).join(" and ")} ms after the first part was saved\n`,
    );
    expect(Math.max(...startedAt) - savedAt).toBeLessThan(2000);
    for (const { player } of windows) await player.getByText("Saved as").waitFor();
    for (const { name, player, faults } of windows) {
      await hearsLast(player, rows);
      expectUnheard(`24 parts ${name}`, measureGaps(await takeRecording(player), file, rows));
      expect(faults).toEqual([]);
    }
  });

  it("goes on in the joined file from the same moment after a pause, in both kinds of hosts", async (test) => {
    const stage = await openStage(test);
    const server = await stage.startServer();
    const [windows, { result, id }] = await Promise.all([openBoth(test, server), beginDialogue(server, 8)]);
    for (const { player, result: show } of windows) {
      await show(result);
      await playButton(player).click();
    }
    const ended = await waitForEnd(server, id);
    const rows = await readRows(server, id);
    const file = decodeFile(ended.path);
    await Promise.all(
      windows.map(async ({ name, player, hostRequests }) => {
        await player.getByText("Saved as").waitFor();
        const now = await positionOf(player);
        // The position is told in whole seconds; somebody speaks in the first second of a part and a half.
        const starts = rows.map(({ startSeconds }) => startSeconds);
        const part = starts.find((start) => start > now + 0.5 && Math.ceil(start + 0.3) - start < 0.9) ?? 0;
        await hears(player, part + 0.3);
        await player.getByRole("button", { name: "Pause", exact: true }).click();
        await sleep(2000);
        await playButton(player).click();
        await hears(player, part + 4);
        expect(hostRequests.some(({ params }) => `${params["uri"]}`.includes("/files/1?"))).toBe(true);
        const recording = await takeRecording(player);
        const sounds = listSounds(recording, 1.5);
        expect(sounds).toHaveLength(2);
        const [from, to] = [sounds[0]?.to ?? 0, sounds[1]?.from ?? 0];
        const before = findStretch(file, recording, from - 0.5, [part + 0.5, 3], 0.5);
        const after = findStretch(file, recording, to, [part + 1, 3], 0.5);
        // On a busy machine, the recording of so short a stretch has gaps of its own.
        expect(Math.min(before.likeness, after.likeness)).toBeGreaterThan(0.7);
        // Silence of the plan between both is no loss: on a busy machine, the pause may come late, where nobody speaks.
        const endSeconds = before.seconds + 0.5;
        const lost = file.subarray(Math.round(endSeconds * HERTZ), Math.round(after.seconds * HERTZ));
        const isLoud = lost.some((sample) => Math.abs(sample) > 1e-2);
        const isRepeated = after.seconds < endSeconds;
        const seconds = isLoud || isRepeated ? after.seconds - endSeconds : 0;
        expectUnheard(`the change to the file ${name}`, [seconds]);
      }),
    );
  });

  it("goes past a part that fails and past one that cannot be decoded, and says so", async (test) => {
    const stage = await openStage(test);
    const server = await stage.startServer();
    stage.speech.failing = /Turn 3\./;
    stage.speech.held = /Turn 8\./;
    const { result, id } = await beginDialogue(server, 8);
    await waitForSaved(server, id, 6);
    const damaged = (await readRows(server, id))[5]?.taskId ?? "";
    const answer: Answerer = async (method, params) => {
      if (`${params["uri"]}`.startsWith(`audio://tasks/${damaged}/`)) {
        const blob = Buffer.from("no sound at all").toString("base64");
        return { contents: [{ uri: params["uri"], mimeType: "audio/mpeg", blob }] };
      }
      return await server.answer(method, params);
    };
    const { player, result: show } = await open(test, server, { answer });
    await show(result);
    await playButton(player).click();
    await messageOf(player).getByText("part 3").waitFor();
    await messageOf(player)
      .getByText(/Playing goes past part 6: /)
      .waitFor();
    stage.speech.held = /^$/;
    const ended = await waitForEnd(server, id);
    expect(ended.status).toBe("stopped");
    const rows = (await readRows(server, id)).filter(({ status }) => status === "saved");
    expect(rows).toHaveLength(7);
    await hearsLast(player, rows);
    const [recording, file] = [await takeRecording(player), decodeFile(ended.path)];
    // Part 6 lasts from the fifth of these rows to the sixth.
    const [before, after] = [rows.slice(0, 4), rows.slice(5)];
    const offsets = measureOffsets(recording, file, before);
    expectUnheard("past a failed part", measureGaps(recording, file, before));
    const passedSeconds = (after[0]?.startSeconds ?? 0) - (rows[4]?.startSeconds ?? 0);
    const from = (offsets.at(-1) ?? 0) - passedSeconds + (after[0]?.startSeconds ?? 0) + 0.2;
    const [first = Number.NaN] = measureOffsets(recording, file, after, [from, 1]);
    expectUnheard("past a damaged part", [first + passedSeconds - (offsets.at(-1) ?? 0)]);
    expectUnheard("after a damaged part", measureGaps(recording, file, after, [from, 1]));
  });

  it("makes what is jumped to next, says when it is likely, and costs no more", async (test) => {
    const stage = await openStage(test);
    const server = await stage.startServer();
    stage.speech.held = /Turn ([3-9]|10)\./;
    const { result, id } = await beginDialogue(server, 10);
    // The wish reaches the process that makes the parts from another one.
    const { player, result: show, hostRequests } = await open(test, await stage.startServer());
    await show(result);
    await waitForSaved(server, id, 2);
    await playButton(player).click();
    await startsSounding(player);
    // A jump to a part that is there is heard at once.
    await partButton(player, 2).click();
    await startsSounding(player);
    await partButton(player, 8).click();
    await messageOf(player)
      .getByText(/Part 8 is likely in (?:about \d+ s|a few seconds)\./)
      .waitFor();
    await expect
      .poll(() => hostRequests.some(({ params }) => `${params["uri"]}`.endsWith("?heard=8")))
      .toBe(true);
    stage.speech.held = /^$/;
    await startsSounding(player);
    const ended = await waitForEnd(server, id);
    expect(ended.status).toBe("finished");
    const order = stage.speech.prompts.map((prompt) => Number(/Turn (\d+)/.exec(prompt)?.[1]));
    // Two parts run and one waits when the jump comes.
    expect(order.slice(4, 7)).toContain(8);
    // Each part was asked for once.
    expect(stage.speech.prompts).toHaveLength(10);
    const rows = await readRows(server, id);
    await hearsLast(player, rows);
    const jumpedTo = measureGaps(
      await takeRecording(player),
      decodeFile(ended.path),
      rows.slice(7),
      [30, 30],
    );
    expectUnheard("after a jump", jumpedTo);
  });

  it("plays at another speed without a gap, and goes back to what was heard", async (test) => {
    const stage = await openStage(test);
    const server = await stage.startServer();
    stage.speech.held = /Turn 7\./;
    const { result, id } = await beginDialogue(server, 7);
    const { player, result: show, faults } = await open(test, server);
    await show(result);
    await waitForSaved(server, id, 6);
    await playButton(player).click();
    await startsSounding(player);
    await player.getByLabel("Speed").selectOption("2");
    await messageOf(player)
      .getByText(/Part 7 is likely/)
      .waitFor();
    await partButton(player, 1).click();
    await expect.poll(() => positionOf(player)).toBeLessThan(2);
    await sleep(1000);
    stage.speech.held = /^$/;
    const { path } = await waitForEnd(server, id);
    const rows = await readRows(server, id);
    await hearsLast(player, rows);
    const recording = await takeRecording(player);
    // The browser changes the samples, so the silences between the parts of the second reading are compared.
    const planned = measureSilences(decodeFile(path), 0.4);
    expect(planned).toHaveLength(6);
    const heard = measureSilences(recording, 0.2).slice(-6);
    expectUnheard(
      "at double speed",
      heard.map((seconds, index) => seconds - (planned[index] ?? 0) / 2),
    );
    expect(faults).toEqual([]);
  });

  it("plays on without a gap what is saved when it is stopped", async (test) => {
    const stage = await openStage(test);
    const server = await stage.startServer();
    stage.speech.held = /Turn [5-9]\./;
    const { result, id } = await beginDialogue(server, 9);
    const { player, result: show } = await open(test, server);
    await show(result);
    await waitForSaved(server, id, 4);
    await playButton(player).click();
    await startsSounding(player);
    await player.getByRole("button", { name: "Stop", exact: true }).click();
    await messageOf(player)
      .getByText(/Stopped, as asked for: /)
      .waitFor();
    const rows = (await readRows(server, id)).slice(0, 4);
    await hearsLast(player, rows);
    stage.speech.held = /^$/;
    const recording = await takeRecording(player);
    const { path } = await waitForEnd(server, id);
    expectUnheard("after a stop", measureGaps(recording, decodeFile(path), rows));
    expect(stage.speech.prompts.length).toBeLessThan(9);
  });

  it("says after a stop how to go on, and follows the narration when it goes on, and its file", async (test) => {
    const stage = await openStage(test);
    const server = await stage.startServer();
    stage.speech.held = /Turn [2-9]\./;
    const { result, id } = await beginDialogue(server, 5);
    const { player, result: show, hostRequests } = await open(test, server);
    await show(result);
    await waitForSaved(server, id, 1);
    await player.getByRole("button", { name: "Stop", exact: true }).click();
    const message = messageOf(player);
    await message.getByText("Ask for the rest: “Go on with this narration.”").waitFor();
    expect(await message.textContent()).not.toMatch(/narrate|narration_id|max_credits|call/i);
    // The tool is called after a change alone, because a call may need the person's permission.
    await sleep(5000);
    const calls = hostRequests.filter(({ method }) => method === "tools/call");
    expect(calls.length).toBeLessThanOrEqual(2);
    await server.call("narrate", { narration_id: id, max_credits: 20_000, wait_seconds: 0 });
    await player.getByRole("list", { name: "Parts" }).getByText("running").first().waitFor();
    await player.getByRole("button", { name: "Stop", exact: true }).click();
    await message.getByText("Ask for the rest").waitFor();
    stage.speech.held = /^$/;
    await player.getByText("Saved as").waitFor();
    expect(await player.locator("#path").textContent()).toContain("(incomplete)");
    await message.getByText("Ask for the rest").waitFor();
    await playButton(player).click();
    await startsSounding(player);
    // It goes on elsewhere: once nothing is heard, the page shows the whole file.
    await server.call("narrate", { narration_id: id, max_credits: 20_000, wait_seconds: 0 });
    await expect
      .poll(() => player.locator("#path").textContent(), { timeout: 60_000 })
      .not.toContain("(incomplete)");
  });

  it("says that the credits are used up when that ends a jump", async (test) => {
    const stage = await openStage(test);
    const server = await stage.startServer();
    stage.speech.held = /Turn [3-9]\./;
    const { result, id } = await beginDialogue(server, 9);
    const { player, result: show } = await open(test, server);
    await show(result);
    await waitForSaved(server, id, 2);
    await playButton(player).click();
    await startsSounding(player);
    await partButton(player, 9).click();
    await messageOf(player).getByText("Part 9 is likely in").waitFor();
    await server.call("narrate", { narration_id: id, max_credits: 100, wait_seconds: 0 });
    stage.speech.held = /^$/;
    const message = messageOf(player);
    await message.getByText("leaves no room for another part").waitFor();
    await message
      .getByText(/Ask for the rest: “Go on with this narration, for at most \d+ credits\.”/)
      .waitFor();
    await playButton(player).click();
    await startsSounding(player);
  });

  it("stops at the end of what is there when it is stopped while it waits for a part", async (test) => {
    const stage = await openStage(test);
    const server = await stage.startServer();
    stage.speech.held = /Turn [2-9]\./;
    const { result, id } = await beginDialogue(server, 6);
    const { player, result: show } = await open(test, server);
    await show(result);
    await waitForSaved(server, id, 1);
    await playButton(player).click();
    await messageOf(player)
      .getByText(/Part 2 is likely/)
      .waitFor();
    await player.getByRole("button", { name: "Stop", exact: true }).click();
    await messageOf(player)
      .getByText(/Stopped, as asked for: /)
      .waitFor();
    await playButton(player).waitFor();
    // Nothing of the end is heard a second time.
    expect(listSounds(await takeRecording(player), 0.8)).toHaveLength(1);
    stage.speech.held = /^$/;
  });

  it("plays on while the part that is heard is made again, in two windows", async (test) => {
    const stage = await openStage(test);
    const server = await stage.startServer();
    const other = await stage.startServer();
    stage.speech.held = /Turn [89]\./;
    const { result, id } = await beginDialogue(server, 9);
    const first = await open(test, server);
    const second = await open(test, other, { policy: NO_MEDIA });
    await waitForSaved(server, id, 7);
    const before = await readRows(server, id);
    await Promise.all(
      [first, second].map(async (window) => {
        await window.result(result);
        await playButton(window.player).click();
        await startsSounding(window.player);
      }),
    );
    const third = before[2]?.startSeconds ?? 0;
    await Promise.all([first, second].map(({ player }) => hears(player, third)));
    await other.call("narrate", {
      narration_id: id,
      max_credits: 20_000,
      retakes: [{ quote: "Turn 3.", take: 2, speed: 0.6 }],
      wait_seconds: 0,
    });
    stage.speech.held = /^$/;
    const ended = await waitForEnd(server, id);
    expect(ended.status).toBe("finished");
    const rows = await readRows(server, id);
    const file = decodeFile(ended.path);
    const startOf = (all: readonly StagedRow[], turn: number) => all[turn - 1]?.startSeconds ?? 0;
    const longerSeconds = startOf(rows, 4) - startOf(rows, 3) - (startOf(before, 4) - startOf(before, 3));
    expect(longerSeconds).toBeGreaterThan(0.5);
    for (const [name, { player }] of [["one window", first] as const, ["another window", second] as const]) {
      await hearsLast(player, rows);
      const recording = await takeRecording(player);
      const start = measureOffsets(recording, file, rows.slice(0, 2)).at(-1) ?? 0;
      const around = [start - longerSeconds + startOf(rows, 4) + 0.2, 0.5] as const;
      // The earlier take was heard, once, because it was heard already.
      const [next = Number.NaN] = measureOffsets(recording, file, rows.slice(3, 4), around);
      expectUnheard(`the retake in ${name}`, [next + longerSeconds - start]);
      expectUnheard(`after the retake in ${name}`, measureGaps(recording, file, rows.slice(3), around));
    }
  });

  it("goes on without a gap when the process that makes it is killed", async (test) => {
    const stage = await openStage(test);
    const server = await stage.startServer();
    stage.speech.held = /Turn [5-9]\./;
    const { result, id } = await beginDialogue(server, 8);
    let current = server;
    const answer: Answerer = (method, params) => current.answer(method, params);
    const { player, result: show } = await open(test, server, { answer });
    await show(result);
    await waitForSaved(server, id, 4);
    await playButton(player).click();
    await startsSounding(player);
    await killHard(server.pid);
    current = await stage.startServer();
    stage.speech.held = /^$/;
    await expect.poll(async () => (await waitForEnd(current, id)).status).toBe("finished");
    const { path } = await waitForEnd(current, id);
    const rows = await readRows(current, id);
    await hearsLast(player, rows);
    expectUnheard("over a kill", measureGaps(await takeRecording(player), decodeFile(path), rows));
    expect(stage.speech.prompts.length).toBeLessThanOrEqual(10);
  });

  it("goes past nothing while the chat does not reach its server", async (test) => {
    const stage = await openStage(test);
    const server = await stage.startServer();
    stage.speech.held = /Turn 5\./;
    const { result, id } = await beginDialogue(server, 5);
    let isDown = false;
    const answer: Answerer = async (method, params) => {
      if (isDown) throw new Error("The server has ended.");
      return await server.answer(method, params);
    };
    const { player, result: show } = await open(test, server, { answer });
    await show(result);
    await waitForSaved(server, id, 4);
    await playButton(player).click();
    await startsSounding(player);
    isDown = true;
    await sleep(10_000);
    isDown = false;
    stage.speech.held = /^$/;
    const { path } = await waitForEnd(server, id);
    const rows = await readRows(server, id);
    await hearsLast(player, rows);
    const recording = await takeRecording(player);
    // One part is read ahead; the third waits for the chat.
    measureOffsets(recording, decodeFile(path), rows.slice(0, 2));
    const later = measureGaps(recording, decodeFile(path), rows.slice(2), [20, 20]);
    expectUnheard("after a chat that was away", later);
  });

  it("keeps Play where it is while the narration is made, stopped and joined", async (test) => {
    const stage = await openStage(test);
    const server = await stage.startServer();
    stage.speech.held = /Turn [3-5]\./;
    const { result, id } = await beginDialogue(server, 5);
    const { player, result: show } = await open(test, server);
    await player.evaluate(() => {
      const heights = new Set<number>();
      const look = (): void => {
        const { height, y } = document.querySelector("#play")?.getBoundingClientRect() ?? new DOMRect();
        if (height > 0) heights.add(y + scrollY);
        requestAnimationFrame(look);
      };
      look();
      Object.assign(globalThis, { heights });
    });
    await show(result);
    await waitForSaved(server, id, 2);
    await playButton(player).click();
    await partButton(player, 4).click();
    await messageOf(player).getByText("Part 4 is likely").waitFor();
    stage.speech.held = /^$/;
    await player.getByText("Saved as").waitFor();
    await startsSounding(player);
    const places: number[] = await player.evaluate(() => [...Reflect.get(globalThis, "heights")]);
    expect(places).toHaveLength(1);
  });

  it("says that parts of pcm are not played before they are joined", async (test) => {
    const stage = await openStage(test);
    const server = await stage.startServer();
    stage.speech.held = /Turn [1-3]\./;
    const { result, id } = await beginDialogue(server, 3, { output_format: "pcm" });
    const { player, result: show } = await open(test, server);
    await show(result);
    const says = () => messageOf(player).textContent();
    expect(await says()).toContain("only the joined file can be played");
    await player.getByRole("list", { name: "Parts" }).getByRole("button").first().click();
    expect(await says()).toContain("only the joined file can be played");
    expect(await playButton(player).isVisible()).toBe(false);
    stage.speech.held = /Turn 3\./;
    await waitForSaved(server, id, 2);
    expect(await says()).toContain("only the joined file can be played");
    stage.speech.held = /^$/;
    await player.getByText("Saved as").waitFor();
    await playButton(player).click();
    await startsSounding(player);
  });
});
