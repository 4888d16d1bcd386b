/**
 * Node's permission model: with exactly the permissions that it needs, the built bin generates audio. If one is
 * missing, an error names it.
 */
import { mkdirSync, realpathSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { closeAfterEach, type FaultSetup, openFaultSetup } from "../faults/fault-setup.ts";
import { BIN, NODE } from "../support/bin-under-test.ts";
import { startCommandClient, type ToolClient } from "../support/tool-client.ts";
import { errorOf, generate, resultTextOf, taskOf } from "../support/tool-result.ts";
import { doctor, preload, works } from "./run-bin.ts";

closeAfterEach();

/** Newer versions of Node forbid the network without this permission. */
const NET = works(NODE, "--allow-net", "--version") ? ["--allow-net"] : [];

/** Permits reading the program and the test folders, and writing the given folders, and nothing else. */
const permission = (root: string, writable: readonly string[]): string[] => [
  "--permission",
  ...NET,
  ...[dirname(BIN), realpathSync(root)].map((path) => `--allow-fs-read=${path}`),
  ...writable.map((path) => `--allow-fs-write=${path}`),
];

const start = ({ testFolders, service }: FaultSetup, nodeArgs: readonly string[]): Promise<ToolClient> =>
  startCommandClient({ command: NODE, args: [...nodeArgs, BIN], env: testFolders.env(service) });

it("under node --permission generates, saves, repeats and reads, whether or not flushing is forbidden there", async () => {
  const setup = await openFaultSetup();
  const { testFolders } = setup;
  const nodeArgs = permission(testFolders.root, [testFolders.root]);
  const client = await start(setup, nodeArgs);
  const call = { prompt: "Permitted", file_name: "permitted" };
  const { audio } = await generate(client, call);
  expect(audio?.size_bytes).toBe(20_000);
  expect((await generate(client, call)).replayed).toBe(true);
  expect((await client.read(audio?.uri ?? "")).bytes.byteLength).toBe(20_000);
  await client.close();
  expect(await testFolders.outputNames()).toEqual(["permitted.mp3"]);
  const checks = await doctor(testFolders.env(setup.service), { nodeArgs });
  expect(Object.values(checks).filter(({ ok }) => !ok)).toEqual([]);
});

it("under node --permission without permission to write the output folder, nothing is charged, and the permission is named", async () => {
  const setup = await openFaultSetup();
  const { testFolders } = setup;
  mkdirSync(testFolders.stateDir, { recursive: true, mode: 0o700 });
  const client = await start(setup, permission(testFolders.root, [testFolders.stateDir]));
  const outcome = await client.call("generate_audio", { prompt: "Not permitted" });
  await client.close();
  expect(errorOf(outcome).code).toBe("output_not_writable");
  expect(resultTextOf(outcome)).toContain("Node.js was started without the permission (ERR_ACCESS_DENIED)");
  expect(setup.service.count("create")).toBe(0);
});

describe("a flush", () => {
  const env = (code: string) => ({ TEST_FS_FAULTS: JSON.stringify([{ call: "handle.sync", code }]) });
  const nodeArgs = preload("fs-faults");

  it.each([
    ["ERR_ACCESS_DENIED", "Node from 24.22 on under --permission"],
    ["EINVAL", "a disk that knows none"],
    ["ENOSYS", "a disk that knows none"],
  ])("that reports %s (%s) does not prevent audio from being saved", async (code) => {
    const setup = await openFaultSetup({ env: env(code), start: { nodeArgs } });
    const outcome = await setup.server.call("generate_audio", { prompt: "No flush" });
    expect(taskOf(outcome).audio?.size_bytes).toBe(20_000);
    const checks = await doctor(setup.testFolders.env(setup.service, env(code)), { nodeArgs });
    expect(checks["output folder"]).toMatchObject({ ok: true });
  });

  it("that fails for a reason of the disk is reported", async () => {
    const setup = await openFaultSetup({ env: env("EIO"), start: { nodeArgs } });
    const outcome = await setup.server.call("generate_audio", { prompt: "No disk" });
    expect(errorOf(outcome).code).toBe("output_not_writable");
    expect(resultTextOf(outcome)).toContain("the disk reports an error (EIO)");
  });
});
