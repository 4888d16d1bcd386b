/** How the sandbox command ends: by a signal, and when nobody reads its output any more. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { ON_WINDOWS, skipBecause } from "../support/skip-because.ts";
import { temporaryFolder } from "./test-sandbox.ts";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

async function startCommand() {
  const temporary = await temporaryFolder();
  const child = spawn(process.execPath, [MAIN, "sandbox"], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, TMPDIR: temporary },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  /** Resolves when the command has ended, with its exit code, its output and the files that it left. */
  const ended = once(child, "close").then(async ([code]: unknown[]) => ({
    code,
    stderr,
    left: await readdir(temporary),
  }));
  return { child, ended };
}

describe("the sandbox command", skipBecause(ON_WINDOWS), () => {
  it.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
    "says where it listens in one line of JSON, ends by %s and leaves nothing",
    async (signal) => {
      const { child, ended } = await startCommand();
      const [line] = await once(child.stdout, "data");
      expect(JSON.parse(String(line))).toEqual({
        base_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
        api_key: expect.any(String),
      });
      child.kill(signal);
      expect(await ended).toEqual({ code: 0, stderr: "", left: [] });
    },
  );

  it("ends silently if its output has no reader", async () => {
    const { child, ended } = await startCommand();
    child.stdout.destroy();
    expect(await ended).toEqual({ code: 0, stderr: "", left: [] });
  });
});
