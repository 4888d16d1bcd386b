/**
 * A disk that no longer answers, such as a file server that is gone: calls are answered all the same, and the server
 * ends in time.
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";
import { closeAfterEach, openFaultSetup } from "../faults/fault-setup.ts";
import { scratchFolder } from "../support/scratch.ts";
import { ON_WINDOWS, skipBecause } from "../support/skip-because.ts";
import { errorOf, generate } from "../support/tool-result.ts";
import { preload } from "./run-bin.ts";

closeAfterEach();

/** Blocks a thread of the server in a system call, as a real disk does. A signal can end it, so no test hangs. */
const STUCK = [{ call: "promises.open", code: "STUCK", path: ".audio-generation" }];

function silentDisk(): { env: Record<string, string>; start: { nodeArgs: string[] } } {
  const pipe = join(scratchFolder(), "pipe");
  execFileSync("mkfifo", [pipe]);
  return {
    env: { TEST_FS_FAULTS: JSON.stringify(STUCK), TEST_PIPE: pipe },
    start: { nodeArgs: preload("fs-faults") },
  };
}

it("a call is answered although the disk hangs, and is not charged twice when the disk works again", {
  ...skipBecause(ON_WINDOWS),
  timeout: 60_000,
}, async () => {
  const setup = await openFaultSetup(silentDisk());
  const silent = { prompt: "Into the void", wait_seconds: 0 };
  const outcome = await setup.server.call("generate_audio", silent);
  expect(errorOf(outcome)).toMatchObject({ code: "timeout", retryable: true });
  expect(outcome.content[0]?.text).toContain("disk");
  await setup.server.end();
  const next = await setup.another({ TEST_FS_FAULTS: "[]" });
  expect((await generate(next, { prompt: "Into the void" })).status).toBe("succeeded");
  expect(setup.service.tasks.size).toBe(1);
});

it("the server exits although its disk hangs", skipBecause(ON_WINDOWS), async () => {
  const setup = await openFaultSetup(silentDisk());
  const outcome = await setup.server.call("generate_audio", { prompt: "Frozen", wait_seconds: 0 });
  expect(outcome.content[0]?.text).toContain("disk");
  setup.server.child.stdin.end();
  // The server kills itself when its grace period is over, because the disk never answers.
  expect(await setup.server.exited).toMatchObject({ signal: "SIGKILL" });
});
