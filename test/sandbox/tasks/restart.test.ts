/** Owns the tests of what a sandbox with a state folder remembers. */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { SandboxUsageError, startSandbox } from "../../../src/sandbox/sandbox.ts";
import { jsonOf, SHORT_INPUT } from "../../contract/service-client.ts";
import { startBox, temporaryFolder } from "../box.ts";
import { TinySpeech } from "../tiny-speech.ts";

describe("a restart on the same folder", () => {
  it("keeps the key, the tasks, their audio, their keys and the balance", async () => {
    const stateDir = await temporaryFolder();
    const first = await startBox({ stateDir });
    const task = await first.client.finished((await first.client.created(SHORT_INPUT, { key: "k" })).id);
    const audio = (await first.client.content(task.id)).bytes;
    const balances = first.sandbox.balances();
    await first.sandbox.stop();

    const { sandbox, client, speech } = await startBox({ stateDir });
    expect(sandbox.apiKey).toBe(first.sandbox.apiKey);
    expect(sandbox.balances()).toEqual(balances);
    const replayed = await client.created(SHORT_INPUT, { key: "k" });
    expect(replayed).toMatchObject({ id: task.id, status: "succeeded", billing: task.billing });
    expect(replayed.output?.url.startsWith(sandbox.baseUrl)).toBe(true);
    expect((await client.content(task.id)).bytes).toEqual(audio);
    expect(speech.requests).toHaveLength(0);
  });

  it("takes up tasks in progress, queued or being spoken, and ends each once", async () => {
    const stateDir = await temporaryFolder();
    const first = await startBox({ stateDir });
    const spoken = await first.client.created({ prompt: "[hangs]" });
    const doomed = await first.setFaults({ fail_next_tasks: 1 });
    expect(doomed).toBe(204);
    await first.sandbox.stop();
    expect(first.speech.closed).toBe(true);

    class Healed extends TinySpeech {
      override speak(request: Parameters<TinySpeech["speak"]>[0]) {
        return super.speak({ ...request, prompt: request.prompt.replace("[hangs]", "[60s]") });
      }
    }
    const { client, sandbox } = await startBox({ stateDir, speech: new Healed() });
    expect(sandbox.balances()[0]).toMatchObject({ charged: 0 });
    const task = await client.finished(spoken.id);
    expect(task).toMatchObject({ status: "succeeded", billing: { charged_credits: 75 } });
    expect(sandbox.balances()[0]).toMatchObject({ reserved: 0, charged: 75 });
  });

  it("keeps its files for the owner alone, and leaves no half-written audio", async () => {
    const stateDir = join(await temporaryFolder(), "made", "here");
    const { client, sandbox } = await startBox({ stateDir });
    await client.finished((await client.created(SHORT_INPUT)).id);
    const names = await readdir(stateDir, { recursive: true });
    expect(names.filter((name) => name.endsWith(".part"))).toEqual([]);
    const modes = await Promise.all(
      ["", ...names].map(async (name) => {
        const { mode } = await stat(join(stateDir, name));
        return mode & 0o077;
      }),
    );
    expect(modes.length).toBeGreaterThan(3);
    expect(modes.every((others) => others === 0)).toBe(true);
    await sandbox.stop();
  });

  it("is refused in one sentence while another sandbox has the folder", async () => {
    const stateDir = await temporaryFolder();
    const { client } = await startBox({ stateDir });
    const second = startSandbox({ stateDir, speech: new TinySpeech() });
    await expect(second).rejects.toThrow(
      new SandboxUsageError("The state folder is in use by another sandbox."),
    );
    expect(jsonOf(await client.create(SHORT_INPUT))).toMatchObject({ status: "queued" });
  });
});
