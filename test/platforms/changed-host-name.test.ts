/**
 * A machine whose name and network change: saved files are found, dead processes are recognised, and the leftovers of
 * dead processes are removed at once.
 */
import { mkdirSync, utimesSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { closeAfterEach, type FaultSetup, openFaultSetup } from "../faults/fault-setup.ts";
import type { RawServer, StartOptions } from "../faults/raw-server.ts";
import { BIN, NODE } from "../support/bin-under-test.ts";
import { killHard } from "../support/processes.ts";
import { skipBecause } from "../support/skip-because.ts";
import { startCommandClient } from "../support/tool-client.ts";
import { generate } from "../support/tool-result.ts";
import { preload, works } from "./run-bin.ts";

closeAfterEach();

const CALL = { prompt: "Left in the middle", wait_seconds: 30 };

/** Kills a server during a download, when half of the file is on the disk. */
async function killInDownload(setup: FaultSetup, server: RawServer): Promise<void> {
  setup.misbehave((exchange, response, service) => {
    if (exchange.kind !== "content") return false;
    const audio = service.tasks.get(exchange.taskId ?? "")?.audio ?? Buffer.alloc(0);
    response.writeHead(200, { "content-type": "application/octet-stream", "content-length": audio.length });
    response.write(audio.subarray(0, 500));
    return true;
  });
  server.begin("generate_audio", CALL);
  await expect.poll(() => setup.service.count("content"), { timeout: 60_000 }).toBe(1);
  await expect.poll(() => setup.testFolders.outputNames(), { timeout: 60_000 }).toHaveLength(1);
  await killHard(server.child.pid ?? 0);
  setup.misbehave(undefined);
  expect(await setup.testFolders.outputNames()).toEqual([expect.stringMatching(/^\..*\.part$/)]);
}

describe("on a system whose only identifiers change with the network", () => {
  // Leases are long, so the next process can be quick only if it knows that the killed process is dead.
  const env = { TEST_PLATFORM: "darwin", AUDIO_TIME_SCALE: "1", AUDIO_POLL_INTERVAL_SECONDS: "0.05" };
  const start: StartOptions = { nodeArgs: preload("other-machine") };

  it("a killed generation is resumed at once, and its leftovers are removed", async () => {
    const setup = await openFaultSetup({ env, start });
    await killInDownload(setup, setup.server);
    const next = await setup.another({}, start);
    const beganAtMs = performance.now();
    expect((await generate(next, CALL)).status).toBe("succeeded");
    expect(performance.now() - beganAtMs).toBeLessThan(12_000);
    const [name, ...more] = await setup.testFolders.outputNames();
    expect(name).toMatch(/\.mp3$/);
    expect(more).toEqual([]);
    expect(setup.service.count("create")).toBe(1);
  });

  it("processes of another state folder are not considered dead", async () => {
    const setup = await openFaultSetup({ env, start });
    await killInDownload(setup, setup.server);
    const other = await setup.another({ AUDIO_STATE_DIR: join(setup.testFolders.stateDir, "other") }, start);
    expect((await other.call("list_tasks", {})).isError).not.toBe(true);
    expect(await setup.testFolders.outputNames()).toEqual([expect.stringMatching(/\.part$/)]);
  });

  it("a sandbox folder of an unknown process is removed after a week, and a younger one stays", async () => {
    const setup = await openFaultSetup({ env, start });
    const { stateDir } = setup.testFolders;
    const nameOf = (letter: string): string => `sandbox-${letter.repeat(16)}.7.${letter.repeat(12)}-aaaaaa`;
    for (const letter of ["a", "b"]) mkdirSync(join(stateDir, nameOf(letter)), { recursive: true });
    const longAgo = Date.now() / 1000 - 8 * 86_400;
    utimesSync(join(stateDir, nameOf("a")), longAgo, longAgo);
    const server = await setup.another({}, { ...start, args: ["--sandbox"] });
    expect((await server.call("list_tasks", {})).isError).not.toBe(true);
    await server.end();
    const left = (await readdir(stateDir)).filter((name) => name.startsWith("sandbox-"));
    expect(left).toEqual([nameOf("b")]);
  });
});

describe("on Linux under another host name", () => {
  const canUnshare = process.platform === "linux" && works("unshare", "-u", "hostname", "agm-other-name");
  const lack = canUnshare ? null : "no name of the host can be changed here (unshare -u)";

  it("saved audio is found", skipBecause(lack), async () => {
    const setup = await openFaultSetup();
    const saved = { prompt: "Saved before", file_name: "before" };
    expect((await generate(setup.server, saved)).replayed).toBe(false);
    await setup.server.end();
    const client = await startCommandClient({
      command: "unshare",
      args: ["-u", "sh", "-c", 'hostname agm-other-name && exec "$@"', "sh", NODE, BIN],
      env: setup.testFolders.env(setup.service),
    });
    expect((await generate(client, saved)).replayed).toBe(true);
    await client.close();
    expect(setup.service.count("content")).toBe(1);
  });

  it(
    "leftovers of a dead process under the old name are removed at the next start",
    skipBecause(lack),
    async () => {
      const setup = await openFaultSetup({ start: { isInProcess: false } });
      await killInDownload(setup, setup.server);
      const client = await startCommandClient({
        command: "unshare",
        args: ["-u", "sh", "-c", 'hostname agm-other-name && exec "$@"', "sh", NODE, BIN],
        env: setup.testFolders.env(setup.service, { AUDIO_TIME_SCALE: "0.001" }),
      });
      expect((await generate(client, CALL)).status).toBe("succeeded");
      await client.close();
      expect(await setup.testFolders.outputNames()).toEqual([expect.stringMatching(/\.mp3$/)]);
    },
  );
});
