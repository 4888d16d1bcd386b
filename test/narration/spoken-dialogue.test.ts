/** A script sounds as it is written: the speakers, their speed, the silences between them, and no directions. */
import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { FAST } from "../support/bin-under-test.ts";
import { openClientAll, openFoldersAll, openSandboxAll } from "../support/e2e-setup.ts";
import { describeWithFfprobe, probeAudio } from "../support/ffprobe.ts";
import { startToolClient } from "../support/tool-client.ts";
import { resultTextOf, taskOf } from "../support/tool-result.ts";
import { type NarrationOutput, narrationOf } from "./narrator.ts";

const SCRIPT = `ANNA (whispering): Did you hear the bell last night?

(They listen.)

BEN: I heard nothing but the rain.

[pause 3s]

ANNA: Did you hear the bell last night?

STRANGER: Nobody rang it.`;

const CALL = {
  text: SCRIPT,
  output_format: "wav",
  pause_seconds: 1.5,
  voices: ["ANNA: sophie_en_zh", "BEN: stokie_en speed 0.5"],
};

const RATE_HZ = 24_000;
const HEADER_BYTES = 44;
/** The silence that a part's own audio may have at its beginning and end. */
const OWN_SILENCE_SECONDS = 0.6;

const samplesOf = (bytes: Buffer): Int16Array =>
  new Int16Array(Uint8Array.from(bytes.subarray(HEADER_BYTES, HEADER_BYTES + bytes.readUInt32LE(40))).buffer);

describeWithFfprobe("a dialogue", () => {
  const sandbox = openSandboxAll({ processingSeconds: 0.02, timeScale: 0.01 });
  const testFolders = openFoldersAll();
  const client = openClientAll(() => startToolClient(testFolders.env(sandbox, FAST)));

  async function narrateToEnd(): Promise<NarrationOutput> {
    for (let calls = 1; ; calls += 1) {
      const args = { ...CALL, max_credits: 900, wait_seconds: 40 };
      const shownNarration = narrationOf(await client.call("narrate", args));
      if (shownNarration.status !== "running" || calls === 5) return shownNarration;
    }
  }

  it("is planned as it is spoken, with the pauses and the slower speaker", { timeout: 240_000 }, async () => {
    const plan = resultTextOf(await client.call("narrate", CALL));
    expect(plan).toMatch(/STRANGER begins 1 line and has no voice in voices: the name will be spoken/);
    expect(plan).toMatch(/\nNext: .*To give STRANGER a voice: .*"STRANGER: voice id" in voices/);
    expect(plan).toMatch(/Not spoken: .*stage direction/);
    const done = await narrateToEnd();
    expect(done).toMatchObject({ status: "finished", problems: [] });

    const table = await client.readText(`audio://narrations/${done.narration_id}`);
    const ids = [...table.matchAll(/^\| \d+ \| saved \| 1 \| (\S+) \|/gm)].map(([, id = ""]) => id);
    const parts = await Promise.all(
      ids.map(async (task_id) => {
        const { audio } = taskOf(await client.call("get_task", { task_id }));
        return samplesOf(await readFile(audio?.path ?? ""));
      }),
    );
    expect(parts).toHaveLength(4);
    const path = done.files[0]?.path ?? "";
    const whole = samplesOf(await readFile(path));
    const pauses = [1.5, 3, 1.5, 0];
    let at = 0;
    for (const [index, part] of parts.entries()) {
      expect(Buffer.from(whole.subarray(at, at + part.length).buffer, 2 * at, 2 * part.length)).toEqual(
        Buffer.from(part.buffer, part.byteOffset, part.byteLength),
      );
      at += part.length;
      const silence = whole.subarray(at, at + (pauses[index] ?? 0) * RATE_HZ);
      expect(silence.every((sample) => sample === 0)).toBe(true);
      at += silence.length;
    }
    expect(at).toBe(whole.length);
    const probed = await probeAudio(path, { format: "wav", sampleRateHz: RATE_HZ });
    expect(Math.abs(probed.durationSeconds - whole.length / RATE_HZ)).toBeLessThan(0.01);

    // Equal words of one speaker are one task, because the direction after the name is not spoken.
    expect(parts[2]?.length).toBe(parts[0]?.length);
    // BEN speaks at half the speed, so his line lasts about as long as ANNA's longer line.
    expect((parts[1]?.length ?? 0) / RATE_HZ).toBeGreaterThan(
      (parts[0]?.length ?? 0) / RATE_HZ - OWN_SILENCE_SECONDS,
    );
    expect(done.credits.charged).toBe(30);
  });
});
