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
import { decodeFile, findInRecording, recordSound, type Sound, takeRecording } from "./recording.ts";
import type { ServerUnderTest } from "./server-under-test.ts";

/** The longest gap at the joins that nobody notices. */
const MAX_GAP_SECONDS = 0.05;

/**
 * Returns how much longer each pause between two parts is in a recording than in the joined file.
 *
 * @param rows the parts that are in both, with their times in the file
 */
function measureGaps(recording: Sound, file: Sound, rows: readonly StagedRow[]): number[] {
  const offsets: number[] = [];
  for (const { startSeconds } of rows) {
    const from = startSeconds + 0.2;
    const last = offsets.at(-1);
    const around = last === undefined ? ([10, 10] as const) : ([last + from, 0.5] as const);
    const { seconds, likeness } = findInRecording(recording, file, from, around);
    expect(likeness, `the part at ${startSeconds} s is heard`).toBeGreaterThan(0.9);
    offsets.push(seconds - from);
  }
  return offsets.slice(1).map((offset, index) => offset - (offsets[index] ?? 0));
}

const longestOf = (gaps: readonly number[]): number => Math.max(...gaps.map(Math.abs));

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

  const hears = (player: Frame, seconds: number): Promise<void> =>
    expect.poll(() => positionOf(player), { timeout: 220_000 }).toBeGreaterThanOrEqual(seconds);

  it.for([
    ["allows audio elements", DEFAULT_POLICY],
    ["forbids them", NO_MEDIA],
  ] as const)(
    "is heard from its first part on without a gap, in a host that %s",
    async ([, policy], test) => {
      const stage = await openStage(test);
      const server = await stage.startServer();
      const { result, id } = await beginDialogue(server, 24);
      const calledAt = Date.now();
      const { player, result: show, faults } = await open(test, server, { policy });
      await show(result);
      await playButton(player).click();
      const saved = waitForSaved(server, id, 1).then(() => Date.now());
      await startsSounding(player);
      const heardAt = Date.now();
      const afterMs = heardAt - (await saved);
      expect(afterMs).toBeLessThan(2000);
      const ended = await waitForEnd(server, id);
      expect(ended.status).toBe("finished");
      const madeMs = Date.now() - calledAt;
      await player.getByText("Saved as").waitFor();
      const rows = await readRows(server, id);
      const file = decodeFile(ended.path);
      await hears(player, (rows.at(-1)?.startSeconds ?? 0) + 2);
      const longest = longestOf(measureGaps(await takeRecording(player), file, rows));
      process.stdout.write(
        `${rows.length} parts, ${Math.round(file.length / 8000)} s, made in ${madeMs} ms; heard ${afterMs} ms after the first part was saved; longest gap ${(longest * 1000).toFixed(1)} ms\n`,
      );
      expect(longest).toBeLessThan(MAX_GAP_SECONDS);
      expect(faults).toEqual([]);
    },
  );

  it("goes on in the joined file from the same moment after a pause", async (test) => {
    const stage = await openStage(test);
    const server = await stage.startServer();
    const { result, id } = await beginDialogue(server, 12);
    const { player, result: show, hostRequests } = await open(test, server, { policy: NO_MEDIA });
    await show(result);
    await playButton(player).click();
    const ended = await waitForEnd(server, id);
    const rows = await readRows(server, id);
    await player.getByText("Saved as").waitFor();
    // Early in a part, where somebody speaks.
    const now = await positionOf(player);
    const part = rows.find(({ startSeconds }) => startSeconds > now + 1);
    await hears(player, (part?.startSeconds ?? 0) + 0.2);
    await player.getByRole("button", { name: "Pause", exact: true }).click();
    await new Promise((resolve) => setTimeout(resolve, 2000));
    await playButton(player).click();
    await hears(player, (part?.startSeconds ?? 0) + 5);
    expect(hostRequests.some(({ params }) => `${params["uri"]}`.includes("/files/1?"))).toBe(true);
    // The recorder waits while nothing is connected, so the pause itself is not in the recording.
    const recording = await takeRecording(player);
    const heard = rows.filter(({ startSeconds }) => startSeconds < (part?.startSeconds ?? 0) + 4);
    const longest = longestOf(measureGaps(recording, decodeFile(ended.path), heard));
    process.stdout.write(`longest gap over the change to the file ${(longest * 1000).toFixed(1)} ms\n`);
    expect(longest).toBeLessThan(MAX_GAP_SECONDS);
  });

  it("goes past a part that fails, and says so", async (test) => {
    const stage = await openStage(test);
    const server = await stage.startServer();
    stage.speech.failing = /Turn 3\./;
    stage.speech.held = /Turn 6\./;
    const { result, id } = await beginDialogue(server, 6);
    const { player, result: show } = await open(test, server);
    await show(result);
    await playButton(player).click();
    await messageOf(player).getByText("part 3").waitFor();
    stage.speech.held = /^$/;
    const ended = await waitForEnd(server, id);
    expect(ended.status).toBe("stopped");
    const rows = (await readRows(server, id)).filter(({ status }) => status === "saved");
    expect(rows).toHaveLength(5);
    await hears(player, (rows.at(-1)?.startSeconds ?? 0) + 2);
    const gaps = measureGaps(await takeRecording(player), decodeFile(ended.path), rows);
    expect(longestOf(gaps)).toBeLessThan(MAX_GAP_SECONDS);
  });

  it("makes what is jumped to next, says when it is likely, and costs no more", async (test) => {
    const stage = await openStage(test);
    const server = await stage.startServer();
    stage.speech.held = /Turn [2-9]\./;
    const { result, id } = await beginDialogue(server, 9);
    // The wish reaches the process that makes the parts from another one.
    const { player, result: show, hostRequests } = await open(test, await stage.startServer());
    await show(result);
    await waitForSaved(server, id, 1);
    await playButton(player).click();
    await startsSounding(player);
    await player
      .getByRole("list", { name: "Parts" })
      .getByRole("button", { name: /Turn 8/ })
      .click();
    await messageOf(player)
      .getByText(/Part 8 is likely in about \d+ s\./)
      .waitFor();
    await expect
      .poll(() => hostRequests.some(({ params }) => `${params["uri"]}`.endsWith("?heard=8")))
      .toBe(true);
    stage.speech.held = /^$/;
    await startsSounding(player);
    expect((await waitForEnd(server, id)).status).toBe("finished");
    const order = stage.speech.prompts.map((prompt) => Number(/Turn (\d)/.exec(prompt)?.[1]));
    // Two parts run and one waits when the jump comes.
    expect(order.slice(4, 6)).toContain(8);
    // Each part was asked for once.
    expect(stage.speech.prompts).toHaveLength(9);
  });

  it("plays at another speed, and goes back to what was heard", async (test) => {
    const stage = await openStage(test);
    const server = await stage.startServer();
    stage.speech.held = /Turn 4\./;
    const { result, id } = await beginDialogue(server, 4);
    const { player, result: show, faults } = await open(test, server);
    await show(result);
    await playButton(player).click();
    await startsSounding(player);
    await player.getByLabel("Speed").selectOption("2");
    await messageOf(player)
      .getByText(/Part 4 is likely/)
      .waitFor();
    await player
      .getByRole("list", { name: "Parts" })
      .getByRole("button", { name: /Turn 1/ })
      .click();
    await expect.poll(() => positionOf(player)).toBeLessThan(2);
    stage.speech.held = /^$/;
    await waitForEnd(server, id);
    const rows = await readRows(server, id);
    await hears(player, (rows.at(-1)?.startSeconds ?? 0) + 1);
    expect(faults).toEqual([]);
  });

  it("keeps what is heard playable when it is stopped", async (test) => {
    const stage = await openStage(test);
    const server = await stage.startServer();
    stage.speech.held = /Turn [3-9]\./;
    const { result, id } = await beginDialogue(server, 6);
    const { player, result: show } = await open(test, server);
    await show(result);
    await waitForSaved(server, id, 2);
    await playButton(player).click();
    await startsSounding(player);
    await player.getByRole("button", { name: "Stop", exact: true }).click();
    await messageOf(player)
      .getByText(/Stopped: /)
      .waitFor();
    stage.speech.held = /^$/;
    const second = (await readRows(server, id))[1]?.startSeconds ?? 0;
    await hears(player, second + 1);
    await startsSounding(player);
    expect(stage.speech.prompts.length).toBeLessThan(6);
  });

  it("plays on while a part is made again, in two windows", async (test) => {
    const stage = await openStage(test);
    const server = await stage.startServer();
    const other = await stage.startServer();
    stage.speech.held = /Turn 8\./;
    const { result, id } = await beginDialogue(server, 8);
    const first = await open(test, server);
    const second = await open(test, other);
    await waitForSaved(server, id, 7);
    await Promise.all(
      [first, second].map(async (window) => {
        await window.result(result);
        await playButton(window.player).click();
        await startsSounding(window.player);
      }),
    );
    await other.call("narrate", {
      narration_id: id,
      max_credits: 20_000,
      retakes: [{ quote: "Turn 5.", take: 2 }],
      wait_seconds: 0,
    });
    stage.speech.held = /^$/;
    const ended = await waitForEnd(server, id);
    expect(ended.status).toBe("finished");
    const rows = await readRows(server, id);
    const file = decodeFile(ended.path);
    for (const { player } of [first, second]) {
      await hears(player, (rows.at(-1)?.startSeconds ?? 0) + 1);
      const recording = await takeRecording(player);
      const gaps = measureGaps(recording, file, [...rows.slice(0, 4), ...rows.slice(5)]);
      // The take of part 5 that is heard may be the earlier one, which is longer or shorter.
      gaps.splice(3, 1);
      expect(longestOf(gaps)).toBeLessThan(MAX_GAP_SECONDS);
    }
  });

  it("goes on when the process that makes it is killed", async (test) => {
    const stage = await openStage(test);
    const server = await stage.startServer();
    stage.speech.held = /Turn [3-9]\./;
    const { result, id } = await beginDialogue(server, 5);
    let current = server;
    const answer: Answerer = (method, params) => current.answer(method, params);
    const { player, result: show } = await open(test, server, { answer });
    await show(result);
    await waitForSaved(server, id, 2);
    await playButton(player).click();
    await startsSounding(player);
    await killHard(server.pid);
    current = await stage.startServer();
    stage.speech.held = /^$/;
    await expect.poll(async () => (await waitForEnd(current, id)).status).toBe("finished");
    const rows = await readRows(current, id);
    await hears(player, (rows.at(-1)?.startSeconds ?? 0) + 2);
    expect(stage.speech.prompts.length).toBeLessThanOrEqual(7);
  });

  it("says that parts of pcm are not played before they are joined", async (test) => {
    const stage = await openStage(test);
    const server = await stage.startServer();
    stage.speech.held = /Turn 3\./;
    const { result } = await beginDialogue(server, 3, { output_format: "pcm" });
    const { player, result: show } = await open(test, server);
    await show(result);
    await messageOf(player).getByText("only the joined file can be played").waitFor();
    stage.speech.held = /^$/;
    await player.getByText("Saved as").waitFor();
    await playButton(player).click();
    await startsSounding(player);
  });
});
