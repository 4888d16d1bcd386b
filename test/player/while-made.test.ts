/** A narration that is heard while it is made: from its first part on, without gaps, and on into the joined file. */
import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { z } from "zod";
import { DEFAULT_POLICY, describeWithBrowser, NO_MEDIA } from "./chat-host.ts";
import { openPlayerSetup } from "./player-setup.ts";
import { playButton, positionOf, startsSounding } from "./player-view.ts";
import { decodeFile, findInRecording, recordSound, takeRecording } from "./recording.ts";

const SENTENCES = [
  "The harbour lay quiet before the first ferry came in from the island.",
  "Somebody whistled, far out, among the nets and the ropes of the boats.",
  "A kettle began to sing below deck, and the cook put down his paper.",
  "Then the gulls came down all at once, and the day had begun in earnest.",
];

/** Turns of two voices. Each is a part. */
const dialogue = (turns: number): string =>
  Array.from(
    { length: turns },
    (_, turn) =>
      `${turn % 2 === 0 ? "Ann" : "Ben"}: Turn ${turn + 1}. ${SENTENCES[turn % 4]} ${SENTENCES[(turn + 1) % 4]}`,
  ).join("\n\n");

const begunSchema = z.object({ narration_id: z.string(), status: z.string() });
const finishedSchema = z.object({
  status: z.literal("finished"),
  files: z.array(z.object({ path: z.string() })),
});

interface Row {
  readonly status: string;
  readonly startSeconds: number;
}

describeWithBrowser("a narration that is being made", () => {
  const setup = openPlayerSetup({ AUDIO_TIME_SCALE: "0.05" });

  async function begin(text: string, more: Record<string, unknown> = {}) {
    const voices = ["Ann: sophie_en_zh", "Ben: kian_en_zh"];
    return await setup.server.call("narrate", {
      text,
      voices,
      max_credits: 20_000,
      wait_seconds: 0,
      ...more,
    });
  }

  async function readRows(id: string): Promise<Row[]> {
    const { contents } = await setup.server.client.readResource({ uri: `audio://narrations/${id}` });
    const [content] = z.array(z.object({ text: z.string() })).parse(contents);
    return (content?.text ?? "")
      .split("\n")
      .filter((line) => /^\| \d+ \|/.test(line))
      .map((line) => {
        const cells = line.split("|").map((cell) => cell.trim());
        return { status: cells[2] ?? "", startSeconds: Number(cells[7]?.replace("~", "")) };
      });
  }

  it.for([
    ["that allows audio elements", DEFAULT_POLICY],
    ["that forbids them", NO_MEDIA],
  ])(
    "plays 24 parts without a gap in a host %s, and goes on in the joined file",
    async ([, policy], test) => {
      const chat = await setup.chat(test, { policy });
      const { player } = chat;
      await player.evaluate(recordSound);
      const calledAt = Date.now();
      const begun = await begin(`${randomUUID()}\n\n${dialogue(23)}`);
      const { narration_id: id } = begunSchema.parse(begun.structuredContent);
      await chat.result(begun);
      await playButton(player).click();
      const firstSaved = (async () => {
        while ((await readRows(id)).every(({ status }) => status !== "saved"))
          await new Promise((resolve) => setTimeout(resolve, 50));
        return Date.now();
      })();
      await startsSounding(player);
      const heardAt = Date.now();
      const afterMs = heardAt - (await firstSaved);
      process.stdout.write(
        `first sound ${heardAt - calledAt} ms after the call, ${afterMs} ms after the first part was saved\n`,
      );
      expect(afterMs).toBeLessThan(2000);
      const finished = await setup.server.call("narrate", { narration_id: id, wait_seconds: 60 });
      const madeMs = Date.now() - calledAt;
      const [file] = finishedSchema.parse(finished.structuredContent).files;
      await player.getByText("Saved as").waitFor();
      const rows = await readRows(id);
      const joined = decodeFile(file?.path ?? "");
      process.stdout.write(`${rows.length} parts, ${joined.length / 8000} s, made in ${madeMs} ms\n`);
      const last = rows.at(-1)?.startSeconds ?? 0;
      await expect.poll(() => positionOf(player), { timeout: 200_000 }).toBeGreaterThan(last + 2);
      const recording = await takeRecording(player);
      let offset = Number.NaN;
      const gaps: number[] = [];
      for (const { startSeconds } of rows) {
        const around = Number.isNaN(offset) ? 10 : 0.4;
        const wanted = (Number.isNaN(offset) ? 9 : offset) + startSeconds + 0.2;
        const { seconds, likeness } = findInRecording(recording, joined, startSeconds + 0.2, [
          wanted,
          around,
        ]);
        expect(likeness).toBeGreaterThan(0.9);
        if (!Number.isNaN(offset)) gaps.push(seconds - startSeconds - 0.2 - offset);
        offset = seconds - startSeconds - 0.2;
      }
      const longest = Math.max(...gaps.map(Math.abs));
      process.stdout.write(`longest gap at ${gaps.length} joins: ${Math.round(longest * 10_000) / 10} ms\n`);
      expect(longest).toBeLessThan(0.05);
      expect(chat.faults).toEqual([]);
    },
  );
});
